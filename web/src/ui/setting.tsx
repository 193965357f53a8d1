// SPDX-License-Identifier: MIT
// A setting in words, on two lines at most; the rest is in its title.

/** Lines break between options, not between an option and its value. */
export function Setting({ text }: { text: string }) {
  const options = text.split(", ");
  return (
    <span class="setting" title={text}>
      {options.map((option, at) => (
        <>
          <span class="setting-option">
            {option}
            {at < options.length - 1 && ","}
          </span>{" "}
        </>
      ))}
    </span>
  );
}
