// SPDX-License-Identifier: MIT
// How wide an element is, and whether it is near what the reader sees.
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { printing } from "../state/settings";

/** On paper charts stand two in a row: wider drawings would have their text shrunk too far. */
const PRINTED = 440;

/** The element's width, kept up to date. */
export function useWidth<T extends HTMLElement>(initial: number): [RefObject<T>, number] {
  const element = useRef<T>(null);
  const [width, setWidth] = useState(initial);
  useEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const take = () => {
      // On paper the drawing scales; drawing it anew would come too late.
      if (target.clientWidth > 0 && !printing.peek()) setWidth(target.clientWidth);
    };
    take();
    const observer = new ResizeObserver(take);
    observer.observe(target);
    return () => observer.disconnect();
  }, []);
  return [element, printing.value ? Math.min(width, PRINTED) : width];
}

/** True from the time the element came near the viewport. */
export function useNear<T extends HTMLElement>(): [RefObject<T>, boolean] {
  const element = useRef<T>(null);
  const [near, setNear] = useState(false);
  useEffect(() => {
    const target = element.current;
    if (!target || near) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setNear(true);
      },
      { rootMargin: "700px 0px" },
    );
    observer.observe(target);
    return () => observer.disconnect();
  }, [near]);
  return [element, near || printing.value];
}
