// SPDX-License-Identifier: MIT
// On or off.

interface SwitchProps {
  label: string;
  on: boolean;
  onChange: (on: boolean) => void;
}

export function Switch({ label, on, onChange }: SwitchProps) {
  return (
    <label class="switch">
      <input type="checkbox" role="switch" checked={on} onChange={() => onChange(!on)} />
      <span>{label}</span>
    </label>
  );
}
