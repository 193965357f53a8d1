// SPDX-License-Identifier: MIT
// The values under the crosshair, the least first.
import { number } from "../data/format";
import { Swatch } from "../ui/swatch";
import type { LineFigure, Series } from "./figure";
import type { Frame, Size } from "./plot";
import { readings } from "./reading";

interface TooltipProps {
  figure: LineFigure;
  shown: Series[];
  frame: Frame;
  size: Size;
  x: number;
}

/** In a chart that is narrower, there is no room beside the crosshair: the values stand below the axis. */
const NARROW = 480;

function placeOf(at: number, frame: Frame, size: Size): Record<string, string> {
  if (size.width < NARROW) return { left: "0", right: "0", top: `${frame.bottom + 24}px`, maxWidth: "none" };
  const side = at < size.width / 2 ? { left: `${at + 14}px` } : { right: `${size.width - at + 14}px` };
  return { ...side, top: `${frame.top + 6}px` };
}

export function Tooltip({ figure, shown, frame, size, x }: TooltipProps) {
  const at = frame.x(x);
  return (
    <div class="tooltip" style={placeOf(at, frame, size)}>
      <div class="tooltip-head">{figure.place(x)}</div>
      <table>
        <tbody>
          {readings(shown, x).map((reading) => (
            <tr key={reading.series.label}>
              <td>
                <Swatch colour={reading.series.colour} dash={reading.series.dash} width={18} />
              </td>
              <td class="tooltip-name">{reading.series.label}</td>
              <td class="number">{number(reading.y, 5)}</td>
              {reading.x !== x && <td class="tooltip-place">{figure.place(reading.x)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
