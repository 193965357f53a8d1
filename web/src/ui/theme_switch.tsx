// SPDX-License-Identifier: MIT
// Chooses between light, dark and the system's own.
import { theme, type Theme } from "../state/theme";
import { Segmented } from "./segmented";

export function ThemeSwitch() {
  return (
    <Segmented<Theme>
      legend="Theme"
      options={[
        { value: "auto", label: "auto" },
        { value: "light", label: "light" },
        { value: "dark", label: "dark" },
      ]}
      value={theme.value}
      onChange={(value) => (theme.value = value)}
    />
  );
}
