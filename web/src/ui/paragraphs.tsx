// SPDX-License-Identifier: MIT
// Plain text as paragraphs, which an empty line sets apart.

export function Paragraphs({ text }: { text: string }) {
  const parts = text.split(/\n\s*\n/).filter((part) => part.trim() !== "");
  return (
    <>
      {parts.map((part, at) => (
        <p key={at} class="plain">
          {part.trim()}
        </p>
      ))}
    </>
  );
}
