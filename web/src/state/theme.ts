// SPDX-License-Identifier: MIT
// Light, dark, or as the reader's system has it; remembered where the browser allows it.
import { effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const KEY = "tandem-theme";

function remembered(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto";
  }
}

export const theme = signal<Theme>("auto");

/** Reads what was chosen before, and keeps the page and the memory to what is chosen. */
export function startTheme(): void {
  theme.value = remembered();
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
    try {
      localStorage.setItem(KEY, theme.value);
    } catch {
      // A page that may not remember still has the theme.
    }
  });
}
