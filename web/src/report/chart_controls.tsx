// SPDX-License-Identifier: MIT
// What holds for all charts: axes, standardisation, bands.
import { showBand, standardise, xAxis, yScale, type XAxis, type YScale } from "../state/settings";
import { Segmented } from "../ui/segmented";
import { Switch } from "../ui/switch";

export function ChartControls() {
  return (
    <>
      <Segmented<XAxis>
        legend="x"
        options={[
          { value: "epoch", label: "epoch" },
          { value: "step", label: "step" },
          { value: "evaluations", label: "gradients", hint: "Gradient evaluations, in passes over the data" },
          { value: "seconds", label: "seconds", hint: "Time of training, the mean over seeds" },
        ]}
        value={xAxis.value}
        onChange={(value) => (xAxis.value = value)}
      />
      <Segmented<YScale>
        legend="y"
        options={[
          { value: "auto", label: "auto", hint: "Logarithmic where a chart spans more than a power of ten" },
          { value: "log", label: "log" },
          { value: "linear", label: "linear" },
        ]}
        value={yScale.value}
        onChange={(value) => (yScale.value = value)}
      />
      <Switch label="standardised" on={standardise.value} onChange={(on) => (standardise.value = on)} />
      <Switch label="band" on={showBand.value} onChange={(on) => (showBand.value = on)} />
    </>
  );
}
