# SPDX-License-Identifier: MIT
"""The rules in plain torch (`tandem._foreach`): against the readable reference, torch.optim, and
themselves with other types, layouts, and tensors in the place of numbers. test_foreach_backend.py
has what needs a whole optimizer."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Iterator, Optional

import pytest
import tandem
import torch
from tandem import _foreach, _rounding, reference
from tandem._rules import RULES
from torch import Tensor

TORCH_2 = int(torch.__version__.split(".")[0]) >= 2

STATE: dict[str, tuple[str, ...]] = {
    "momentum": ("momentum_buffer",),
    "nesterov": ("momentum_buffer",),
    "adagrad": ("sum",),
    "rmsprop": ("square_avg",),
    "adam": ("exp_avg", "exp_avg_sq"),
    "adamw": ("exp_avg", "exp_avg_sq"),
    "nadamw": ("exp_avg", "exp_avg_sq"),
    "lion": ("exp_avg",),
    "diag-to": ("a", "b"),
    "adam-to": ("a", "b", "v"),
    "ro-to": ("a", "b", "c"),
}
#: Rates under which each rule moves well on the problem below.
RATES: dict[str, dict[str, Any]] = {
    "full-to": {"lr": 0.05, "alpha": 0.01, "beta": 0.3},
    "diag-to": {"lr": 0.05, "alpha": 0.05, "beta": 0.3},
    "ro-to": {"lr": 0.05, "alpha": 0.01, "beta": 0.3},
    "block-to": {"lr": 0.05, "alpha": 0.02, "beta": 0.3, "block": 5},
    "adam-to": {"lr": 0.01, "alpha": 0.05, "beta": 0.3},
    "sgd": {"lr": 0.05},
    "momentum": {"lr": 0.05},
    "nesterov": {"lr": 0.01},
    "adagrad": {"lr": 0.1},
    "rmsprop": {"lr": 0.01},
    "adam": {"lr": 0.01},
    "adamw": {"lr": 0.01, "weight_decay": 0.1},
    "nadamw": {"lr": 0.01, "weight_decay": 0.1},
    "lion": {"lr": 0.001},
}
ALL = sorted(RATES)
TRAINABLE = [rule for rule in ALL if RULES[rule].weights_per_estimate]
ELEMENTWISE = [rule for rule in ALL if rule not in ("ro-to", "full-to", "block-to")]
NARROW = [rule for rule in ALL if "state_type" in RULES[rule].options]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other take long where others want the processors."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def defaults(rule: str) -> dict[str, Any]:
    signature = inspect.signature(getattr(tandem, RULES[rule].class_name).__init__)
    return {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }


class Driver:
    """Steps on a list of tensors as an optimizer does it, each with options of its own if told."""

    def __init__(
        self,
        rule: str,
        params: list[Tensor],
        of_parameters: Optional[dict[int, dict[str, Any]]] = None,
        **options: Any,
    ) -> None:
        self.rule, self.params = rule, params
        shared = {**defaults(rule), "maximize": False, **RATES[rule], **options}
        self.options = [shared] * len(params)
        for i, own in (of_parameters or {}).items():
            self.options[i] = {**shared, **own}
        self.capturable = shared.get("capturable", False)
        device = params[0].device
        self.state = {key: [self.new_state(p) for p in params] for key in STATE.get(rule, ())}
        self.unit: Any = [{} for _ in params] if rule == "block-to" else {}
        start = {"nadamw": {"mu_product": 1.0}, "ro-to": {"c_known": 0}}.get(rule, {})
        self.scalars: dict[str, Any] = {
            name: torch.full((), float(value), device=device) if self.capturable else value
            for name, value in start.items()
        }
        self.steps: Any = torch.zeros((), device=device) if self.capturable else 0

    def new_state(self, p: Tensor) -> Tensor:
        wide = torch.float64 if p.dtype == torch.float64 else torch.float32
        narrow = self.options[0].get("state_type", "full") == "bfloat16"
        start = float(self.options[0].get("initial_accumulator_value", 0.0))
        dtype = torch.bfloat16 if narrow else wide
        return torch.full_like(p, start, dtype=dtype, memory_format=torch.preserve_format)

    def bucket(self, grads: list[Any]) -> _foreach.Bucket:
        return _foreach.Bucket(
            rule=self.rule,
            params=self.params,
            grads=grads,
            state=self.state,
            unit=self.unit,
            options=self.options,
            step=self.steps + 1,
            epoch=0,
            scalars=self.scalars,
        )

    @torch.no_grad()
    def step(self, grads: list[Any], ok: Optional[Tensor] = None) -> Tensor:
        bucket = self.bucket(grads)
        sums = _foreach.gather(bucket)
        _foreach.apply(bucket, sums, ok)
        self.steps = self.steps + 1
        return sums

    def arrays(self) -> list[Tensor]:
        """Everything that a step may write."""
        units = self.unit if isinstance(self.unit, list) else [self.unit]
        return [
            *self.params,
            *(array for key in self.state for array in self.state[key]),
            *(array for unit in units for array in unit.values() if isinstance(array, Tensor)),
            *(scalar for scalar in self.scalars.values() if isinstance(scalar, Tensor)),
        ]


SHAPES: list[tuple[int, ...]] = [(4, 3), (7,), (), (2, 3, 2)]


def make_params(dtype: torch.dtype = torch.float64, shapes: Any = SHAPES) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(s, generator=generator, dtype=torch.float64).to(dtype) for s in shapes]


def make_grads(params: list[Tensor], t: int) -> list[Tensor]:
    """Of a quadratic, with noise; of the same layout as torch's gradients."""
    generator = torch.Generator().manual_seed(100 + t)
    grads = []
    for i, p in enumerate(params):
        noise = torch.randn(p.shape, generator=generator, dtype=torch.float64)
        grads.append((p.double() * (0.5 + 0.2 * i) - 0.3 + 0.1 * noise).to(p.dtype))
    return grads


def run(driver: Driver, steps: int, first: int = 1) -> Tensor:
    for t in range(first, first + steps):
        driver.step(make_grads(driver.params, t))
    return flat(driver.params)


def flat(params: list[Tensor]) -> Tensor:
    return torch.cat([p.detach().double().reshape(-1) for p in params])


def distance(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max() / other.abs().max())


# ---- Against the reference and torch.optim -----------------------------------------------------


class NormalizedDiagonal(reference.DiagonalTO):
    def direction(self, w: Tensor, g: Tensor, group: dict[str, Any], memory: Any) -> Tensor:
        normalized = {**group, "alpha": group["alpha"] / (0.01 + w * w)}
        return super().direction(w, g, normalized, memory)


class NormalizedFull(reference.FullTO):
    def direction(self, w: Tensor, g: Tensor, group: dict[str, Any], memory: Any) -> Tensor:
        normalized = {**group, "alpha": group["alpha"] / (0.01 + w.dot(w))}
        return super().direction(w, g, normalized, memory)


class NormalizedRankOne(reference.RankOneTO):
    """As docs and C++ have it: rates of their own for a and c, the change of c.w capped."""

    def direction(self, w: Tensor, g: Tensor, group: dict[str, Any], memory: Any) -> Tensor:
        if not memory:
            memory["a"], memory["b"], memory["c"] = (torch.zeros_like(w) for _ in range(3))
            memory["c"] += w / w.dot(w)
        a, b, c = memory["a"], memory["b"], memory["c"]
        s = c.dot(w)
        r = g - a * s - b
        ra = r.dot(a)
        c_rate = group["alpha"] / (0.01 + a.dot(a) * w.dot(w))
        change, most = abs(c_rate * ra * w.dot(w)), group["alpha"] * abs(s)
        if change > most:
            c_rate = c_rate * most / change
        a += group["alpha"] / (0.01 + s * s) * s * r
        c += c_rate * ra * w
        b += group["beta"] * r
        return a * c.dot(w) + b


REFERENCES: dict[str, Any] = {
    "diag-to": (reference.DiagonalTO, NormalizedDiagonal),
    "ro-to": (reference.RankOneTO, NormalizedRankOne),
    "full-to": (reference.FullTO, NormalizedFull),
    "block-to": (reference.BlockTO, None),
    "adam-to": (reference.AdamTO, None),
}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weight_decay": 0.1},
        {"l2": 0.05},
        {"maximize": True, "lr": 0.001},
        {"normalize": True},
        {"l2": 0.05, "weight_decay": 0.1, "maximize": True, "lr": 0.001, "alpha": 0.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("rule", TRAINABLE)
def test_the_reference(rule: str, options: dict[str, Any]) -> None:
    plain, normalized = REFERENCES[rule]
    cls = normalized if options.get("normalize") else plain
    if cls is None:
        pytest.skip("the reference has no such option")
    driver = Driver(rule, make_params(), **options)
    params = make_params()
    rates = {name: value for name, value in driver.options[0].items() if name in RATES[rule]}
    expected = cls([p.requires_grad_() for p in params], **rates)
    sign = -1 if options.get("maximize") else 1
    lr, decay = driver.options[0]["lr"], options.get("weight_decay", 0.0)
    for t in range(1, 201):
        driver.step(make_grads(driver.params, t))
        before = [p.detach().clone() for p in params]
        for p, g in zip(params, make_grads([p.detach() for p in params], t)):
            p.grad = sign * g + options.get("l2", 0.0) * p.detach()
        expected.step()
        with torch.no_grad():
            for p, old in zip(params, before):
                p.sub_(lr * decay * old)
    assert torch.isfinite(flat(params)).all()
    assert distance(flat(driver.params), flat(params)) < 1e-9


TORCH: list[tuple[str, dict[str, Any], Callable[..., torch.optim.Optimizer], dict[str, Any]]] = [
    ("sgd", {}, torch.optim.SGD, {}),
    ("momentum", {"form": "torch", "lr": 0.01}, torch.optim.SGD, {"momentum": 0.9}),
    ("momentum", {}, torch.optim.SGD, {"momentum": 0.9, "lr": 0.05 * 0.1}),
    ("nesterov", {}, torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    (
        "adagrad",
        {"initial_accumulator_value": 0.1},
        torch.optim.Adagrad,
        {"initial_accumulator_value": 0.1},
    ),
    ("rmsprop", {"alpha": 0.95}, torch.optim.RMSprop, {"alpha": 0.95}),
    ("adam", {}, torch.optim.Adam, {}),
    (
        "adam",
        {"betas": (0.8, 0.9), "eps": 1e-3},
        torch.optim.Adam,
        {"betas": (0.8, 0.9), "eps": 1e-3},
    ),
    ("adamw", {}, torch.optim.AdamW, {"weight_decay": 0.1}),
    ("nadamw", {}, torch.optim.NAdam, {"weight_decay": 0.1, "decoupled_weight_decay": True}),
]


@pytest.mark.parametrize("more", [{}, {"weight_decay": 0.02}, {"maximize": True}], ids=str)
@pytest.mark.parametrize("rule, options, peer, theirs", TORCH, ids=lambda value: str(value)[:40])
def test_torch(
    rule: str, options: dict[str, Any], peer: Any, theirs: dict[str, Any], more: dict[str, Any]
) -> None:
    if rule == "nadamw" and not TORCH_2:
        pytest.skip("torch 1.13 has no NAdam with decoupled weight decay")
    driver = Driver(rule, make_params(), **options, **more)
    params = [p.requires_grad_() for p in make_params()]
    expected = peer(params, **{"lr": driver.options[0]["lr"], **theirs, **more})
    for t in range(1, 51):
        driver.step(make_grads(driver.params, t))
        for p, g in zip(params, make_grads([p.detach() for p in params], t)):
            p.grad = g
        expected.step()
    # The paper's momentum b is (1 - m) of torch's, which a coupled decay does not change.
    assert distance(flat(driver.params), flat(params)) < 1e-9
    if rule != "momentum" or options:
        keys = [key for key in STATE.get(rule, ()) if key in expected.state[params[0]]]
        assert keys == list(STATE.get(rule, ()))
        for key in keys:
            theirs_now = flat([expected.state[p][key] for p in params])
            assert distance(flat(driver.state[key]), theirs_now) < 1e-9


def test_lion_is_the_authors() -> None:
    driver = Driver("lion", make_params(), weight_decay=0.1, betas=(0.8, 0.95))
    w, m = flat(driver.params), torch.zeros_like(flat(driver.params))
    for t in range(1, 51):
        g = flat(make_grads(driver.params, t))
        w = w - 0.001 * (torch.sign(0.8 * m + 0.2 * g) + 0.1 * w)
        m = 0.95 * m + 0.05 * g
        driver.step(make_grads(driver.params, t))
        assert distance(flat(driver.params), w) < 1e-12


# ---- Tensors in the place of numbers -----------------------------------------------------------


def as_tensors(rule: str, device: str = "cpu", **more: float) -> dict[str, Any]:
    """The rates of a rule as 0-dim tensors, and its other options."""
    return {
        name: value
        if name in ("block", "betas")
        else torch.full((), value, dtype=torch.float64, device=device)
        for name, value in {**RATES[rule], **more}.items()
    }


@pytest.mark.parametrize("rates", ["numbers", "tensors"])
@pytest.mark.parametrize("on_nonfinite", ["skip", "ignore"])
@pytest.mark.parametrize("rule", ALL)
def test_capturable(rule: str, on_nonfinite: str, rates: str) -> None:
    """Nothing but rounding differs where step, scalars and perhaps rates are tensors."""
    plain = Driver(rule, make_params(), weight_decay=0.01)
    options = as_tensors(rule) if rates == "tensors" else {}
    options["weight_decay"] = torch.tensor(0.01, dtype=torch.float64)
    captured = Driver(rule, make_params(), capturable=True, on_nonfinite=on_nonfinite, **options)
    ok = torch.tensor(True) if on_nonfinite == "skip" else None
    for t in range(1, 51):
        plain.step(make_grads(plain.params, t))
        captured.step(make_grads(captured.params, t), ok)
    # Carried scalars are float tensors.
    assert distance(flat(captured.params), flat(plain.params)) < 1e-6
    if rule not in ("nadamw", "ro-to"):
        assert distance(flat(captured.params), flat(plain.params)) < 1e-11


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("rule", ALL)
def test_a_step_that_is_not_ok_changes_nothing(rule: str, dtype: torch.dtype) -> None:
    options: dict[str, Any] = {}
    if rule in NARROW and dtype != torch.float32:
        options["state_type"] = "bfloat16"
    options.update(capturable=True, stochastic_rounding=True, weight_decay=0.1)
    driver = Driver(rule, make_params(dtype), **options)
    for t in range(1, 4):
        driver.step(make_grads(driver.params, t), torch.tensor(True))
    before = [array.clone() for array in driver.arrays()]
    grads = make_grads(driver.params, 4)
    grads[1][2] = float("nan")
    grads[3][0, 1, 1] = float("inf")
    sums = driver.step(grads, torch.tensor(False))
    assert sums[0] == 1
    for array, old in zip(driver.arrays(), before):
        assert torch.equal(array, old)
    driver.step(make_grads(driver.params, 5), torch.tensor(True))
    assert not all(torch.equal(array, old) for array, old in zip(driver.arrays(), before))


@pytest.mark.parametrize("rates", ["numbers", "tensors"])
@pytest.mark.parametrize("on_nonfinite", ["skip", "ignore"])
@pytest.mark.parametrize("rule", ALL)
def test_nothing_is_read_on_the_host(rule: str, on_nonfinite: str, rates: str) -> None:
    """Meta tensors have no values to read: item() raises."""
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.zeros((), device="meta").item()
    shapes = [*SHAPES, (0,), (600,)]
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        params = [torch.empty(shape, dtype=dtype, device="meta") for shape in shapes]
        more = {"weight_decay": 0.1}
        if "l2" in RULES[rule].options:
            more["l2"] = 0.1
        options = as_tensors(rule, "meta", **more) if rates == "tensors" else more
        if rule in NARROW and dtype != torch.float32:
            options["state_type"] = "bfloat16"
        options["normalize"] = dtype == torch.bfloat16
        driver = Driver(
            rule,
            params,
            capturable=True,
            on_nonfinite=on_nonfinite,
            stochastic_rounding=dtype == torch.bfloat16,
            maximize=True,
            **options,
        )
        grads: list[Any] = [torch.empty_like(p) for p in params]
        if rule == "ro-to":
            grads[1] = None
        for _ in range(2):
            ok = torch.empty((), dtype=torch.bool, device="meta")
            sums = driver.step(grads, ok if on_nonfinite == "skip" else None)
            assert sums.shape == (8,) and sums.device.type == "meta" and sums.dtype == torch.float64
        assert [p.shape for p in driver.params] == [p.shape for p in params]
        assert all(array.device.type == "meta" for array in driver.arrays())


# ---- What gather sees --------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str
)
def test_nonfinite_gradients_are_seen(dtype: torch.dtype, bad: float) -> None:
    for rule in ("sgd", "ro-to"):
        params = make_params(dtype, [*SHAPES, (0, 3), (1000, 77)])
        for place in (0, 499, 76999):
            grads = [torch.ones_like(p) for p in params]
            driver = Driver(rule, params)
            assert _foreach.gather(driver.bucket(grads))[0] == 0
            grads[-1].view(-1)[place] = bad
            assert _foreach.gather(driver.bucket(grads))[0] == 1
            driver = Driver(rule, params, on_nonfinite="ignore")
            assert _foreach.gather(driver.bucket(grads))[0] == 0
        grads = [torch.ones_like(p) for p in params]
        grads[2].fill_(bad)  # the scalar
        assert _foreach.gather(Driver(rule, params).bucket(grads))[0] == 1


def test_large_gradients_are_finite() -> None:
    params = [torch.zeros(100_000)]
    grads = [torch.full((100_000,), 3e38)]
    assert _foreach.gather(Driver("sgd", params).bucket(grads))[0] == 0


def test_gather_changes_nothing_and_leaves_other_sums_at_zero() -> None:
    for rule in ALL:
        driver = Driver(rule, make_params())
        before = [array.clone() for array in driver.arrays()]
        sums = _foreach.gather(driver.bucket(make_grads(driver.params, 1)))
        assert all(torch.equal(x, y) for x, y in zip(driver.arrays(), before))
        assert sums.dtype == torch.float64 and sums.shape == (8,)
        if rule != "ro-to":
            assert not sums.any()


# ---- RO-TO -------------------------------------------------------------------------------------


@pytest.mark.parametrize("capturable", [False, True])
def test_rank_one_waits_for_weights_that_move(capturable: bool) -> None:
    """From zero weights c is w / |w| as soon as they have moved, as in the reference."""
    params = [torch.zeros(s, dtype=torch.float64) for s in SHAPES]
    driver = Driver("ro-to", params, capturable=capturable)
    ours = []
    for t in range(1, 30):
        driver.step(make_grads(driver.params, t))
        ours.append(float(driver.scalars["c_known"]))
    assert ours == [2.0] + [1.0] * 28
    others = [torch.zeros(s, dtype=torch.float64, requires_grad=True) for s in SHAPES]
    expected = reference.RankOneTO(others, **RATES["ro-to"])
    for t in range(1, 30):
        for p, g in zip(others, make_grads([p.detach() for p in others], t)):
            p.grad = g
        expected.step()
    assert distance(flat(driver.params), flat(others)) < 1e-9


@pytest.mark.parametrize("capturable", [False, True])
def test_rank_one_with_parameters_left_out(capturable: bool) -> None:
    """Sums are of what is stepped on; the first c is of all weights."""
    driver = Driver("ro-to", make_params(), capturable=capturable)
    grads: list[Any] = make_grads(driver.params, 1)
    grads[1] = None
    w = [p.clone() for p in driver.params]
    sums = driver.step(grads)
    ww = [float(x.square().sum()) for x in w]
    stepped, everything = ww[0] + ww[2] + ww[3], sum(ww)
    expected = torch.tensor([0, 0, 0, stepped, 0, 0, everything, 0], dtype=torch.float64)
    assert torch.allclose(sums, expected)
    assert torch.equal(driver.params[1], w[1])
    assert torch.allclose(driver.state["c"][1], w[1] / everything)
    # s = c.w of what is stepped, with c = w / |w|^2 and a = 0
    a_step = RATES["ro-to"]["alpha"] * stepped / everything
    assert torch.allclose(driver.state["a"][0], a_step * grads[0])
    grads[1] = torch.ones_like(w[1])
    driver.step(grads)
    assert not torch.equal(driver.params[1], w[1])


@pytest.mark.parametrize("rule", ["ro-to", "full-to"])
def test_rates_of_parameters_in_a_scope(rule: str) -> None:
    """lr and weight_decay may differ from group to group."""
    own = {1: {"lr": 0.0}, 3: {"lr": 0.02, "weight_decay": 0.5}}
    driver = Driver(rule, make_params(), of_parameters=own)
    plain = Driver(rule, make_params())
    w = [p.clone() for p in driver.params]
    grads = make_grads(driver.params, 1)
    driver.step(grads)
    plain.step(grads)
    assert torch.equal(driver.params[1], w[1])
    assert torch.allclose(driver.params[0], plain.params[0])
    moved = (plain.params[3] - w[3]) * 0.02 / 0.05
    assert torch.allclose(driver.params[3], w[3] * (1 - 0.02 * 0.5) + moved)


def test_sums_that_the_kernels_carry_are_dropped() -> None:
    driver = Driver("ro-to", make_params())
    driver.scalars["sums_known"] = 1
    driver.step(make_grads(driver.params, 1))
    assert driver.scalars == {"c_known": 1, "sums_known": 0}


# ---- Types -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ALL)
def test_float(rule: str) -> None:
    double = run(Driver(rule, make_params()), 100)
    params = [p.float() for p in make_params()]
    assert distance(run(Driver(rule, params), 100), double) < 2e-5


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("rule", ALL)
def test_narrow_parameters_are_stepped_in_float(rule: str, dtype: torch.dtype) -> None:
    """One step is that of their float copies, rounded; the state is float and not rounded."""
    driver = Driver(rule, make_params(dtype))
    wide = Driver(rule, [p.float() for p in driver.params])
    for t in range(1, 6):
        grads = make_grads(driver.params, t)
        driver.step(grads)
        wide.step([g.float() for g in grads])
        for narrow, float_ in zip(driver.params, wide.params):
            assert torch.equal(narrow, float_.to(dtype))
            float_.copy_(narrow)
        for array, other in zip(driver.arrays()[4:], wide.arrays()[4:]):
            assert torch.equal(array, other)


@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
@pytest.mark.parametrize("rule", [rule for rule in NARROW if rule != "full-to"])
def test_state_in_bfloat16(rule: str, rounding: str) -> None:
    """The step works on float copies, and its rounded results are kept."""
    options = {"state_type": "bfloat16", "state_rounding": rounding}
    driver = Driver(rule, make_params(torch.float32), **options)
    wide = Driver(rule, make_params(torch.float32))
    torch.manual_seed(0)
    for t in range(1, 6):
        grads = make_grads(driver.params, t)
        driver.step(grads)
        wide.step(grads)
        for key in driver.state:
            for array, other in zip(driver.state[key], wide.state[key]):
                assert array.dtype == torch.bfloat16
                if rounding == "nearest":
                    assert torch.equal(array, other.to(torch.bfloat16))
                else:
                    assert torch.all((array.float() - other).abs() <= other.abs() / 128)
                other.copy_(array)
        for p, other in zip(driver.params, wide.params):
            assert torch.equal(p, other)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_stochastic_rounding(dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    # Representable numbers stay, whatever they are.
    kept = torch.tensor([0.0, -0.0, 1.0, -2.0, 1.5, 3e-5, 2.0**-24, 6e4, torch.inf, -torch.inf])
    kept = kept.to(dtype)
    for _ in range(100):
        assert torch.equal(_rounding.narrow(kept.float(), dtype, True), kept)
    assert torch.isnan(_rounding.narrow(torch.tensor([torch.nan]), dtype, True)).all()
    nan_of_ones = torch.tensor([-1], dtype=torch.int32).view(torch.float32)
    assert torch.isnan(_rounding.narrow(nan_of_ones, dtype, True)).all()
    # Others go up or down to a neighbour, and their mean is what they are.
    for x in (1.001, -1.001, 3.3, 1e-5, 2.0**-25 * 1.253, -7.7e-7):
        rounded = _rounding.narrow(torch.full((200_000,), x), dtype, True).double()
        values = rounded.unique()
        assert len(values) == 2 and values[0] < x < values[1]
        step = float(values[1] - values[0])
        assert abs(float(rounded.mean()) - x) < 5 * 0.5 * step / 200_000**0.5
    same = _rounding.narrow(torch.full((2, 3), 1.001).t(), dtype, False)
    assert torch.equal(same, torch.full((3, 2), 1.001).to(dtype))


def test_stochastic_rounding_keeps_small_updates() -> None:
    for stochastic, least, most in ((False, 0.0, 0.0), (True, 0.5, 1.5)):
        torch.manual_seed(2)
        driver = Driver(
            "sgd", [torch.ones(1000).bfloat16()], lr=1e-4, stochastic_rounding=stochastic
        )
        for _ in range(100):
            driver.step([torch.ones(1000).bfloat16()])
        moved = 1 - float(driver.params[0].float().mean())
        assert least * 1e-2 <= moved <= most * 1e-2


# ---- Layouts and sizes -------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ALL)
def test_memory_formats(rule: str) -> None:
    """Transposed weights, weights with gaps; gradients of another layout."""
    shapes = [(4, 6), (5, 3), (2, 3, 4, 4), (9,)]
    plain = Driver(rule, make_params(shapes=shapes))
    with_gaps = torch.zeros(5, 3, 2, dtype=torch.float64)[:, :, 1]
    odd = [
        plain.params[0].t().contiguous().t(),
        with_gaps.copy_(plain.params[1]),
        plain.params[2].contiguous(memory_format=torch.channels_last),
        plain.params[3].clone(),
    ]
    driver = Driver(rule, odd)
    if rule == "block-to":  # blocks follow memory, and hold other weights then
        orders = [[1, 0], [0, 1], [0, 2, 3, 1], [0]]
        plain = Driver(rule, [p.permute(o).contiguous() for p, o in zip(odd, orders)])
    for t in range(1, 21):
        grads = make_grads(odd, t)
        driver.step([g.contiguous() for g in grads])
        if rule == "block-to":
            grads = [g.permute(o).contiguous() for g, o in zip(grads, orders)]
        plain.step([g.contiguous() for g in grads])
    ours = driver.params
    if rule == "block-to":
        ours = [p.permute(o) for p, o in zip(ours, orders)]
    assert distance(flat(ours), flat(plain.params)) < 1e-12
    assert not driver.params[0].is_contiguous()


@pytest.mark.parametrize("rule", [*ELEMENTWISE, "ro-to"])
def test_large_tensors_are_cut(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"alpha": 1e-6} if rule == "ro-to" else {}
    whole = Driver(rule, make_params(shapes=[(100, 70), (3,), (0,), (), (50, 50)]), **options)
    expected = run(whole, 5)
    threads = torch.get_num_threads
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    monkeypatch.setattr("tandem._lists.CPU_ELEMENTS", 1000)
    cut = Driver(rule, make_params(shapes=[(100, 70), (3,), (0,), (), (50, 50)]), **options)
    assert distance(run(cut, 5), expected) < 1e-12
    monkeypatch.undo()
    assert torch.get_num_threads is threads


@pytest.mark.parametrize("rule", ALL)
def test_parameters_without_elements(rule: str) -> None:
    driver = Driver(rule, [torch.zeros(0), torch.ones(3), torch.zeros(2, 0)])
    assert driver.step([torch.zeros_like(p) + 1 for p in driver.params])[0] == 0
    assert (driver.params[1] != 1).all()
    alone = Driver(rule, [torch.zeros(0)])
    assert alone.step([torch.zeros(0)])[0] == 0


# ---- Full-TO and Block-TO ----------------------------------------------------------------------


def large_full(**options: Any) -> Driver:
    """With factors that wait: from 512 weights on."""
    dtype = options.pop("dtype", torch.float64)
    params = [0.1 * p for p in make_params(dtype, [(20, 20), (130,)])]
    return Driver("full-to", params, **{"alpha": 0.001, **options})


def test_factors_wait_and_are_added() -> None:
    delayed, direct = large_full(), large_full(capturable=True)
    for t in range(1, 151):
        grads = make_grads(delayed.params, t)
        delayed.step(grads)
        direct.step([g.clone() for g in grads])
        assert delayed.unit["pending"] == (t - 1) % 64 + 1
        assert delayed.unit["base_is_zero"] == (t <= 64)
        assert direct.unit["pending"] == 0
    assert distance(flat(delayed.params), flat(direct.params)) < 1e-11
    for name in ("u", "v"):
        assert delayed.unit[name].shape == (64 * 530,)
    # What waits belongs to A: the other kind of step goes on with it.
    changed = Driver("full-to", [p.clone() for p in delayed.params], alpha=0.001, capturable=True)
    changed.unit = {
        name: value.clone() if isinstance(value, Tensor) else value
        for name, value in delayed.unit.items()
    }
    changed.steps = changed.steps + 150
    for t in range(151, 160):
        grads = make_grads(delayed.params, t)
        delayed.step(grads)
        changed.step(grads)
    assert distance(flat(changed.params), flat(delayed.params)) < 1e-11


def test_factors_wait_only_while_alpha_is_not_zero() -> None:
    driver = large_full(alpha=0.0)
    run(driver, 3)
    assert driver.unit["pending"] == 0 and driver.unit["base_is_zero"] == 1


@pytest.mark.parametrize("capturable", [False, True])
@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
def test_a_matrix_in_bfloat16(rounding: str, capturable: bool) -> None:
    options = {"dtype": torch.float32, "capturable": capturable}
    torch.manual_seed(4)
    narrow = large_full(state_type="bfloat16", state_rounding=rounding, **options)
    full = large_full(**options)
    for t in range(1, 101):
        grads = make_grads(full.params, t)
        narrow.step(grads)
        full.step(grads)
    assert narrow.unit["A"].dtype == torch.bfloat16
    assert narrow.unit["b"].dtype == narrow.unit["u"].dtype == torch.float32
    assert distance(flat(narrow.params), flat(full.params)) < 0.02
    small = Driver("full-to", make_params(torch.float32), state_type="bfloat16")
    run(small, 2)
    assert small.unit["pending"] == 2  # a small one waits too, so that it is rounded less often


def test_full_refuses_what_it_cannot_do() -> None:
    driver = Driver("full-to", make_params(), form="span")
    with pytest.raises(ValueError, match='form="dense"'):
        run(driver, 1)
    driver = Driver("full-to", make_params(shapes=[(50,)]), memory_limit=22_399)
    message = "50 weights needs 22400 bytes .* memory_limit is 22399"
    with pytest.raises(MemoryError, match=message):
        run(driver, 1)
    assert driver.unit == {}
    driver = Driver("full-to", make_params(shapes=[(50,)]), memory_limit=22_400)
    run(driver, 1)
    driver.unit["dense"] = 0
    with pytest.raises(tandem.StateError, match='form="dense"'):
        run(driver, 1)


@pytest.mark.parametrize("rule", ["full-to", "block-to"])
def test_states_that_do_not_fit(rule: str) -> None:
    driver = Driver(rule, make_params())
    run(driver, 1)
    unit = driver.unit[0] if rule == "block-to" else driver.unit
    whole = unit["A"]
    unit["A"] = whole[:-1]
    before = [p.clone() for p in driver.params]
    with pytest.raises(tandem.StateError, match=f"'A' has {whole.numel() - 1} elements"):
        run(driver, 1)
    assert all(torch.equal(p, old) for p, old in zip(driver.params, before))
    unit["A"] = whole
    if rule == "full-to":
        unit["pending"] = 1
        with pytest.raises(tandem.StateError, match="'u' has nothing"):
            run(driver, 1)


def test_blocks_between_diagonal_and_full() -> None:
    shapes = [(3, 4)]
    same = {"lr": 0.05, "alpha": 0.02, "beta": 0.3}
    diagonal = run(Driver("diag-to", make_params(shapes=shapes), **same), 50)
    full = run(Driver("full-to", make_params(shapes=shapes), **same), 50)
    ones = run(Driver("block-to", make_params(shapes=shapes), block=1, **same), 50)
    one = run(Driver("block-to", make_params(shapes=shapes), block=100, **same), 50)
    assert distance(ones, diagonal) < 1e-12
    assert distance(one, full) < 1e-12
