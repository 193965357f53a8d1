# SPDX-License-Identifier: MIT
"""The statistics of a study, with scipy, exact fractions and plain enumeration.

Writes statistics_fixture.json beside itself: tests on means, Holm's adjustment, the best of n, and a small made-up study with the
rows that follow from it. The tests hold src/study/statistics.cc and comparison.cc to it. Run: python3 statistics_reference.py
"""
import itertools
import json
import math
import pathlib
from fractions import Fraction

import numpy as np
from scipy import special, stats

rng = np.random.default_rng(11)


# ---- Tests on a mean ---------------------------------------------------------------------------------------------------------------

def summary(values):
    """What the conventions of docs/statistics.md say, by scipy wherever there is spread."""
    out = dict(values=values, mean=None, standard_error=None, s=None, p=None, interval=None)
    if not values:
        return out
    out["mean"] = values[0] if len(set(values)) == 1 else float(np.mean(values))
    if len(values) == 1:
        return out
    if len(set(values)) == 1:
        v = values[0]
        out |= dict(standard_error=0.0, s=0.0 if v > 0 else 1.0 if v < 0 else 0.5, p=0.0 if v else 1.0, interval=[v, v])
        return out
    error = float(stats.sem(values, ddof=1))
    test = stats.ttest_1samp(values, 0.0, alternative="two-sided")
    # By the incomplete beta function: stats.t.ppf of scipy 1.10 is off in the tenth digit.
    x = special.betaincinv(0.5, (len(values) - 1) / 2, 0.95)
    reach = math.sqrt((len(values) - 1) * x / (1 - x)) * error
    return out | dict(standard_error=error, s=float(stats.norm.sf(out["mean"] / error)), p=float(test.pvalue),
                      interval=[out["mean"] - reach, out["mean"] + reach])


def mark(s):
    return None if s is None else "+" if s < 0.05 else "-" if s > 0.95 else "~"


SAMPLES = [
    [], [0.3], [-0.3], [0.0], [0.1] * 5, [-0.1] * 5, [0.0] * 5, [0.1, 0.1, 0.1], [0.0, 0.0, 1.0], [1.0, -1.0],
    [0.006, 0.0058, 0.0061, 0.0059, 0.00605], [-0.003, 0.001, -0.002, 0.0005, -0.004], [1e-9, 2e-9, 1.5e-9],
    [1.0, 1.000001, 1.0], [-40.0, -39.5, -41.0, -40.2], [0.02, -0.01, 0.03, 0.01, 0.005, -0.002, 0.04, 0.0],
] + [[round(float(x), 6) for x in rng.normal(loc, 0.01, size)]
     for loc, size in [(0.0, 5), (0.005, 5), (-0.01, 5), (0.02, 2), (0.0, 3), (0.001, 30), (0.003, 100)]]


# ---- Holm, as R's p.adjust has it: pmin(1, cummax((n - i + 1) * p[o]))[ro] ---------------------------------------------------------

def holm(ps):
    known = [p for p in ps if p is not None]
    n = len(known)
    o = np.argsort(known, kind="stable")
    ro = np.argsort(o, kind="stable")
    i = np.arange(1, n + 1)
    adjusted = iter(np.minimum(1, np.maximum.accumulate((n - i + 1) * np.array(known)[o]))[ro].tolist() if n else [])
    return [None if p is None else next(adjusted) for p in ps]


FAMILIES = [
    [], [None], [0.03], [0.01, 0.04, 0.03, 0.005], [0.02, 0.02, 0.02], [0.01, None, 0.04, None, 0.03], [0.5, 0.6, 0.9, 1.0],
    [0.0, 0.0, 1.0, 0.2], [0.04, 0.01, 0.04, 0.012, 0.0121], [round(float(p), 5) for p in rng.uniform(size=40) ** 3],
]


# ---- The best of n, in exact fractions by tail sums --------------------------------------------------------------------------------

def best_of(values, n):
    """E min = x_1 + sum_k (x_{k+1} - x_k) P(min > x_k); all n lie above the k smallest with probability C(N-k,n) / C(N,n)."""
    x = sorted(values)
    size, total = len(x), math.comb(len(x), n)
    above = [Fraction(math.comb(size - k, n), total) for k in range(size + 1)]  # P(rank > k), ranks from 1
    expected = Fraction(x[0]) + sum((Fraction(x[k]) - Fraction(x[k - 1])) * above[k] for k in range(1, size))
    quantile = lambda q: next(x[k - 1] for k in range(1, size + 1) if 1 - above[k] >= q)
    return dict(n=n, expected=float(expected), low=quantile(Fraction(1, 10)), median=quantile(Fraction(1, 2)), high=quantile(Fraction(9, 10)))


def best_of_enumerated(values, n):
    return float(np.mean([min(draw) for draw in itertools.combinations(values, n)]))


def median_enumerated(values, n):
    """The least value that half of the draws do not exceed."""
    least = sorted(min(draw) for draw in itertools.combinations(values, n))
    return float(least[(len(least) + 1) // 2 - 1])


def grid_values(size, modulus):
    """So simple that the test makes the same doubles."""
    return [(i * 7919 + 13) % modulus / 1000 for i in range(size)]


GRIDS = [(1, 10007, [1]), (10, 10007, range(1, 11)), (36, 7, [1, 2, 3, 18, 35, 36]), (900, 10007, [1, 2, 7, 36, 100, 899, 900]),
         (10000, 10007, [1, 2, 36, 900, 5000, 9999, 10000])]


# ---- A study -----------------------------------------------------------------------------------------------------------------------

EPOCHS, SAMPLES_PER_EPOCH, START = 4, 100, 2.5
SEEDS = [3, 1, 2, 7, 5]


def run(options, seed, final, diverged=False, pruned=False, cost=1, speed=1.0, seconds_noise=0.0):
    """A curve that falls to about `final` and comes up a little in the last epoch, in points of epoch, evaluations, seconds, loss."""
    last = EPOCHS if not diverged else 2
    points = []
    for epoch in range(0, last + 1):
        loss = START if epoch == 0 else final * (1 + 0.5 ** (2 * epoch)) + (0.01 if epoch == EPOCHS else 0)
        points.append([epoch, epoch * SAMPLES_PER_EPOCH * cost, round(epoch * speed * (1 + seconds_noise), 6), round(loss, 9)])
    if diverged:
        points[-1][3] = min(points[-1][3], 0.01)  # a diverged run's losses must not count, however good
    return dict(options=options, seed=seed, diverged=diverged, pruned=pruned, state_bytes=8 * len(options), points=points)


def optimizer(label, grid, finals, measured, baseline=False, diverged=(), cost=1, speed=1.0, fixed=None):
    """`finals` over the product of the grid; `diverged` are places in it; `measured` finals by seed, None where it diverges."""
    names = sorted(grid)
    settings = [dict(zip(names, values)) | (fixed or {}) for values in itertools.product(*(grid[name] for name in names))]
    assert len(settings) == len(finals)
    tuned = [run(o, 0, f, diverged=i in diverged, cost=cost, speed=speed) for i, (o, f) in enumerate(zip(settings, finals))]
    alive = [i for i in range(len(finals)) if i not in diverged]
    best = min(alive, key=lambda i: min(p[3] for p in tuned[i]["points"][1:])) if alive else None
    runs = [] if best is None else [
        run(settings[best], seed, 0.5 if f is None else f, diverged=f is None, cost=cost, speed=speed, seconds_noise=0.01 * k)
        for k, (seed, f) in enumerate(zip(SEEDS, measured))]
    return dict(label=label, method=label.split(" ")[0], baseline=baseline, grid={k: v for k, v in grid.items() if len(v) > 1},
                tuned=tuned, measured=runs)


def losses(run):
    return None if run["diverged"] else min(p[3] for p in run["points"] if p[0] > 0)


def within(run, column, budget):
    inside = [p[3] for p in run["points"] if p[0] > 0 and p[column] <= budget]
    return min(inside) if inside else run["points"][0][3]


def relative(base, mine):
    return (base - mine) / base


def worth(run):
    return START if run["diverged"] else min(p[3] for p in run["points"])


def common_budget(task, base):
    sizes = [len(o["tuned"]) for o in task["optimizers"]]
    return min(size for size in sizes if 2 * size >= len(base["tuned"]))


def row(task, mine, base):
    by_seed = {r["seed"]: r for r in mine["measured"]}
    base_by_seed = {r["seed"]: r for r in base["measured"]}
    min_loss = [losses(by_seed[s]) if s in by_seed else None for s in SEEDS]
    base_loss = [losses(base_by_seed[s]) if s in base_by_seed else None for s in SEEDS]
    ok = [r for r in mine["measured"] if not r["diverged"]]
    out = dict(
        optimizer=mine["label"], min_loss=min_loss,
        gap=[None if x is None or task["optimum"] is None else x - task["optimum"] for x in min_loss],
        diverged=sum(r["diverged"] for r in mine["tuned"]), members=len(mine["tuned"]),
        measured_diverged=sum(r["diverged"] for r in mine["measured"]),
        seconds=float(np.mean([r["points"][-1][2] for r in ok])) if ok else None,
        gradient_evaluations=ok[0]["points"][-1][1] if ok else None,
        tuned_loss=min((losses(r) for r in mine["tuned"] if not r["diverged"]), default=None),
        best_of_2=best_of_enumerated([worth(r) for r in mine["tuned"]], 2) if len(mine["tuned"]) > 1 else None,
        rho=None, s=None, p=None, interval=None, mark=None, rho_evaluations=None, rho_seconds=None, rho_tuned=None, rho_budget=None,
        rho_seeds=[None] * len(SEEDS))
    if mine["baseline"] or all(r["diverged"] for r in base["tuned"]):
        return out
    out["rho_seeds"] = [None if a is None or b is None else relative(b, a) for a, b in zip(min_loss, base_loss)]
    base_best = min(losses(r) for r in base["tuned"] if not r["diverged"])
    if out["tuned_loss"] is not None:
        out["rho_tuned"] = relative(base_best, out["tuned_loss"])
    n = min(common_budget(task, base), len(mine["tuned"]))
    out["rho_budget"] = relative(*(median_enumerated([worth(r) for r in side["tuned"]], n) for side in (base, mine)))
    if None in base_loss:
        return out
    if None in min_loss:
        out["mark"] = "-"
        return out
    numbers = summary(out["rho_seeds"])
    out |= dict(rho=numbers["mean"], s=numbers["s"], p=numbers["p"], interval=numbers["interval"], mark=mark(numbers["s"]))
    for key, column in (("rho_evaluations", 1), ("rho_seconds", 2)):
        pairs = [(by_seed[s], base_by_seed[s]) for s in SEEDS]
        budgets = [min(a["points"][-1][column], b["points"][-1][column]) for a, b in pairs]
        out[key] = float(np.mean([relative(within(b, column, t), within(a, column, t)) for (a, b), t in zip(pairs, budgets)]))
    return out


def around(center, spread):
    return [round(float(x), 6) for x in rng.normal(center, spread, len(SEEDS))]


RATES, DECAYS = ["0.001", "0.005", "2e-4", "0.01"], ["1", "0.8"]


def adam(measured):
    return optimizer("adam", dict(lr=RATES), [0.6, 0.5, 0.7, 0.55], measured, baseline=True)


def rivals(base):
    nine = [0.62, 0.53, 0.49, 0.47, 0.46, 0.52, 0.61, 0.5]
    return [
        optimizer("diag-to", dict(alpha=["0", "0.1"], lr=["0.1", "0.5"], decay=DECAYS), nine, around(0.47, 0.005), diverged=(2, 3)),
        optimizer("ties", dict(lr=["0.3", "0.1", "0.2"]), [0.5, 0.5, 0.5], base),  # equal to the baseline: rho = 0, no spread
        optimizer("svrg", dict(lr=RATES), [0.6, 0.45, 0.7, 0.5], around(0.45, 0.004), cost=3, speed=2.0),
        optimizer("slow", dict(lr=["1", "2"]), [0.5, 0.4], around(0.4, 0.004), cost=5, speed=9.0),
        optimizer("worse", dict(lr=["1", "2"]), [0.9, 0.8], around(0.8, 0.004), speed=0.5),
        optimizer("same", dict(lr=["1", "2", "3"]), [0.9, 0.5, 0.8], around(0.5, 0.01)),
        optimizer("lost", dict(lr=["1", "2"]), [0.9, 0.4], [0.4, 0.41, None, 0.4, 0.42]),
        optimizer("never", dict(lr=["1", "2"]), [0.9, 0.8], [], diverged=(0, 1)),
        optimizer("single", {}, [0.48], around(0.48, 0.004), fixed=dict(lr="0.1")),
    ]


base = around(0.5, 0.005)
tasks = [dict(data="first", model="logistic", lam=0.023, optimum=0.39, optimizers=[adam(base)] + rivals(base)),
         dict(data="second", model="ffn:10", lam=0.0, optimum=None, optimizers=[adam(base)] + rivals(around(0.5, 0.005))),
         dict(data="third", model="logistic", lam=0.1, optimum=None,
              optimizers=[adam([0.5, None, 0.5, 0.51, 0.5])] + rivals(base))]
rows = []
for task in tasks:
    base_runs = next(o for o in task["optimizers"] if o["baseline"])
    rows += [dict(data=task["data"]) | row(task, o, base_runs) for o in task["optimizers"]]
for r, p in zip(rows, holm([r["p"] for r in rows])):
    r["p_holm"] = p

fixture = dict(
    summaries=[summary(values) for values in SAMPLES],
    holm=[dict(p=p, adjusted=holm(p)) for p in FAMILIES],
    best_of=[dict(size=size, modulus=modulus, curve=[best_of(grid_values(size, modulus), n) for n in ns]) for size, modulus, ns in GRIDS],
    study=dict(epochs=EPOCHS, seeds=SEEDS, tasks=tasks), rows=rows)
path = pathlib.Path(__file__).with_name("statistics_fixture.json")
lines = [f' "{key}": ' + (json.dumps(value) if key == "study" else
                          "[\n  " + ",\n  ".join(json.dumps(v) for v in value) + "\n ]") for key, value in fixture.items()]
path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
