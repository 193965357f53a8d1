// SPDX-License-Identifier: MIT
// Goes to a part of the page, for eyes and for the keyboard.

export function taskId(scope: string, task: number): string {
  return `${scope}-task-${task}`;
}

const SETTLING = 600;

/**
 * Goes to the element and puts the focus there; place.ts has the address that names it.
 * Charts above it are drawn as they come near and push it away, so it is held in place for a moment, unless
 * the reader moves.
 */
export function jumpTo(id: string): void {
  const target = document.getElementById(id);
  if (!target) return;
  target.focus({ preventScroll: true });
  const end = performance.now() + SETTLING;
  const reader = new AbortController();
  for (const move of ["wheel", "pointerdown", "keydown", "touchstart"]) {
    window.addEventListener(move, () => reader.abort(), { signal: reader.signal, passive: true });
  }
  const hold = () => {
    if (reader.signal.aborted) return;
    target.scrollIntoView({ behavior: "instant", block: "start" });
    if (performance.now() < end) requestAnimationFrame(hold);
    else reader.abort();
  };
  hold();
}
