// SPDX-License-Identifier: MIT
// A worker: what it does, how far it is, and the curve of its best member as it grows.
import type { LineFigure } from "../chart/figure";
import { useWidth } from "../chart/measure";
import { screenPaint } from "../chart/paint";
import { frameOf, Plot } from "../chart/plot";
import { viewOf } from "../chart/view";
import { number, options, timeLeft, timeOfDay } from "../data/format";
import { spansDecade } from "../data/logarithm";
import { emptyCurve, farStart, measuredOnly, withoutStart } from "../data/series";
import type { Worker } from "../model";
import { Progress } from "./progress";

function curveFigure(worker: Worker): LineFigure {
  const { epoch = [], train_loss: loss = [] } = worker.curve;
  const all = emptyCurve(epoch.length, 1);
  epoch.forEach((value, at) => {
    all.x[at] = value;
    all.y[at] = loss[at] ?? NaN;
  });
  const measured = measuredOnly(all);
  const curve = farStart([measured]) === null ? measured : withoutStart(measured);
  return {
    id: `worker/${worker.owner}`,
    title: "Training loss so far",
    subject: worker.curve.task ?? "",
    xLabel: "epoch",
    yLabel: "training loss",
    xLog: false,
    xWhole: true,
    yLog: spansDecade([curve]),
    series: [{ label: worker.curve.optimizer ?? "", colour: "#0072B2", dash: [], curve }],
    levels: [],
    caption: "",
    place: String,
  };
}

const HEIGHT = 170;

interface WorkerProps {
  worker: Worker;
  /** How far the curve will go. */
  epochs: number;
}

export function WorkerCard({ worker, epochs }: WorkerProps) {
  const { curve } = worker;
  const left = timeLeft(worker.seconds_left);
  const loss = (curve.train_loss ?? []).filter((value) => value !== null).pop();
  return (
    <article class="worker">
      <p class="worker-name">{worker.owner}</p>
      <p class="soft">
        {worker.machine !== "" && `${worker.machine}, ${worker.target}; `}
        last seen {timeOfDay(worker.updated)}
      </p>
      <p class="doing">{worker.doing}</p>
      <Progress part={worker.part} label={`Progress of ${worker.owner}`} />
      {left !== "" && <p class="soft">{left}</p>}
      {curve.epoch && curve.epoch.length > 0 && (
        <>
          <LiveCurve worker={worker} epochs={epochs} />
          <p class="soft">
            Best member in training: {curve.optimizer} on {curve.task}
            {curve.seed !== undefined && `, seed ${curve.seed}`}
            {curve.alive !== undefined && `, ${curve.alive} alive`}
            {loss !== undefined && `; loss ${number(loss)}`}
            {curve.options && ` (${options(curve.options)})`}
          </p>
        </>
      )}
    </article>
  );
}

/** The axis is as long as the training, so that the curve can be seen to grow. */
function LiveCurve({ worker, epochs }: WorkerProps) {
  const [holder, width] = useWidth<HTMLDivElement>(320);
  const figure = curveFigure(worker);
  const view = viewOf(figure, figure.series, { x: [0, Math.max(1, epochs)], y: null }, false);
  const size = { width, height: HEIGHT };
  const points = figure.series[0]?.curve.x.length ?? 0;
  return (
    <div class="chart" ref={holder}>
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`Training loss of the best member, ${points} points so far`}
        data-points={points}
      >
        {view && (
          <Plot
            figure={figure}
            shown={figure.series}
            frame={frameOf(size, view, figure)}
            band={false}
            paint={screenPaint}
          />
        )}
      </svg>
    </div>
  );
}
