// SPDX-License-Identifier: MIT
// A place of a report in the address: which study and which task, by their names, after #.
import type { Study } from "../model";

/** Names of which none comes twice: a second "a" becomes "a (2)". */
export function distinct(names: string[]): string[] {
  const met = new Set<string>();
  return names.map((name) => {
    let own = name;
    for (let times = 2; met.has(own); times += 1) own = `${name} (${times})`;
    met.add(own);
    return own;
  });
}

/** The part after # or ?; names may hold anything, so they are encoded. */
export function placeText(place: { study?: string | undefined; task?: string | undefined }): string {
  const words = new URLSearchParams();
  if (place.study !== undefined) words.set("study", place.study);
  if (place.task !== undefined) words.set("task", place.task);
  return words.toString();
}

export interface Place {
  study: number;
  /** Null: the study as a whole. */
  task: number | null;
}

export function taskPlace(study: Study, name: string | null): number | null {
  const at = study.tasks.findIndex((task) => task.name === name);
  return at < 0 ? null : at;
}

/** Where an address points to; what it does not name, or nobody knows, is the first study. */
export function placeOf(studies: Study[], hash: string): Place {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const wanted = words.get("study");
  const study = wanted === null ? 0 : distinct(studies.map(({ name }) => name)).indexOf(wanted);
  const found = studies[study];
  return found ? { study, task: taskPlace(found, words.get("task")) } : { study: 0, task: null };
}

/** Lets a link be followed again: the browser is silent where the address stays the same. */
export function again(hash: string): void {
  if (window.location.hash === hash) window.dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Follows a link that is no link: an entry of a list. */
export function visit(hash: string): void {
  if (window.location.hash === hash) again(hash);
  else window.location.hash = hash;
}
