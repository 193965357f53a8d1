// SPDX-License-Identifier: MIT
// A command with a button that copies it.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

/** Pages from file:// may lack the clipboard; then the text is selected for the reader to copy. */
async function copy(element: HTMLElement, text: string): Promise<"Copied" | "Selected"> {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = window.getSelection();
    selection?.removeAllRanges();
    selection?.addRange(range);
    return "Selected";
  }
}

export function Command({ text }: { text: string }) {
  const code = useRef<HTMLElement>(null);
  const done = useSignal("");
  const onClick = async () => {
    if (!code.current) return;
    done.value = await copy(code.current, text);
    setTimeout(() => (done.value = ""), 2000);
  };
  return (
    <div class="command">
      <code ref={code}>{text}</code>
      <button type="button" onClick={() => void onClick()} aria-label={`Copy the command ${text}`}>
        {done.value || "Copy"}
      </button>
      <span class="visually-hidden" aria-live="polite">
        {done}
      </span>
    </div>
  );
}
