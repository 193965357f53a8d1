// SPDX-License-Identifier: MIT
// A choice of one of a few, as radio buttons side by side.
import { useId } from "preact/hooks";

interface SegmentedProps<T extends string> {
  legend: string;
  options: { value: T; label: string; hint?: string }[];
  value: T;
  onChange: (value: T) => void;
}

export function Segmented<T extends string>({ legend, options, value, onChange }: SegmentedProps<T>) {
  const name = useId();
  return (
    <fieldset class="segmented">
      <legend>{legend}</legend>
      <div class="segments">
        {options.map((option) => (
          <label key={option.value} title={option.hint} class={option.value === value ? "on" : ""}>
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            <span>{option.label}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
