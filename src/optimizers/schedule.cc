// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tandem/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "optimizers/check.h"
#include "optimizers/text.h"

namespace tandem {
namespace {

void require(bool good, const char* what, double found, const char* expected) {
  if (!good) {
    throw std::invalid_argument(
        fmt::format("Invalid schedule: {} is {}, expected {}", what, found, expected));
  }
}

void require_positive(const char* what, double value) {
  require(std::isfinite(value) && value > 0, what, value, "a finite number > 0");
}

/// `growth` is what the rate is multiplied by in each step or epoch.
void require_slow_growth(double factor, double growth, const char* per) {
  if (growth <= kMostGrowth) return;
  throw std::invalid_argument(
      fmt::format("Invalid schedule: the factor is {}, so the rate grows {}-fold per {}, expected "
                  "at most {}-fold",
                  factor, growth, per, kMostGrowth));
}

/// From 1 at 0 to `last` at 1 and beyond.
double half_cosine(double progress, double last) {
  const double fall = 0.5 * (1 + std::cos(std::numbers::pi * std::clamp(progress, 0.0, 1.0)));
  return last + (1 - last) * fall;
}

}  // namespace

Schedule Schedule::exponential_epochs(double rate, double factor) {
  require_positive("the factor", factor);
  require_slow_growth(factor, factor, "epoch");
  Schedule schedule(rate);
  schedule.kind_ = Kind::exponential_epochs;
  schedule.factor_ = factor;
  return schedule;
}

Schedule Schedule::exponential_steps(double rate, double factor, double steps) {
  require_positive("the factor", factor);
  require_positive("the number of steps", steps);
  require_slow_growth(factor, std::pow(factor, 1 / steps), "step");
  Schedule schedule(rate);
  schedule.kind_ = Kind::exponential_steps;
  schedule.factor_ = factor;
  schedule.span_ = steps;
  return schedule;
}

Schedule Schedule::inverse(double rate, double offset, int power) {
  require(std::isfinite(offset) && offset > -1, "the offset of t", offset, "a number > -1");
  require(power == 1 || power == 2, "the power", power, "1 or 2");
  Schedule schedule(rate);
  schedule.kind_ = Kind::inverse;
  schedule.span_ = offset;
  schedule.power_ = power;
  return schedule;
}

Schedule Schedule::cosine_steps(double rate, double steps, double final_fraction) {
  require_positive("the number of steps", steps);
  require(final_fraction >= 0 && final_fraction <= 1, "the final fraction", final_fraction,
          "a number from 0 to 1");
  Schedule schedule(rate);
  schedule.kind_ = Kind::cosine_steps;
  schedule.span_ = steps;
  schedule.factor_ = final_fraction;
  return schedule;
}

Schedule Schedule::cosine_epochs(double rate, double epochs, double final_fraction) {
  require_positive("the number of epochs", epochs);
  Schedule schedule = cosine_steps(rate, epochs, final_fraction);
  schedule.kind_ = Kind::cosine_epochs;
  return schedule;
}

Schedule Schedule::with_warmup(double steps) const {
  require_positive("the number of warm-up steps", steps);
  Schedule schedule = *this;
  schedule.warmup_ = steps;
  return schedule;
}

double Schedule::at(const Clock& clock) const {
  const auto t = static_cast<double>(clock.step);
  const auto epoch = static_cast<double>(clock.epoch);
  if (rate_ == 0) return 0;  // also where the rest is infinite
  double value = rate_;
  switch (kind_) {
    case Kind::constant:
      break;
    case Kind::exponential_epochs:
      value *= std::pow(factor_, epoch);
      break;
    case Kind::exponential_steps:
      value *= std::pow(factor_, t / span_);
      break;
    case Kind::inverse:
      value /= power_ == 1 ? t + span_ : (t + span_) * (t + span_);
      break;
    case Kind::cosine_steps:
      value *= half_cosine((t - 1) / span_, factor_);
      break;
    case Kind::cosine_epochs:
      value *= half_cosine(epoch / span_, factor_);
      break;
  }
  return warmup_ > 0 ? value * std::min(1.0, t / warmup_) : value;
}

std::string Schedule::to_string() const {
  const std::string rate = number_text(rate_);
  const auto cosine = [&](const char* clock) {
    const std::string last = factor_ == 0 ? "" : ", " + number_text(factor_);
    return fmt::format("{}*cosine({}/{}{})", rate, clock, number_text(span_), last);
  };
  std::string text;
  switch (kind_) {
    case Kind::constant:
      text = rate;
      break;
    case Kind::exponential_epochs:
      text = fmt::format("{}*{}^epoch", rate, number_text(factor_));
      break;
    case Kind::exponential_steps:
      text = fmt::format("{}*{}^(t/{})", rate, number_text(factor_), number_text(span_));
      break;
    case Kind::inverse: {
      const char* sign = std::signbit(span_) ? "-" : "+";
      text = fmt::format("{}/(t{}{}){}", rate, sign, number_text(std::abs(span_)),
                         power_ == 2 ? "^2" : "");
      break;
    }
    case Kind::cosine_steps:
      text = cosine("t");
      break;
    case Kind::cosine_epochs:
      text = cosine("epoch");
      break;
  }
  return warmup_ > 0 ? fmt::format("warmup({})*{}", number_text(warmup_), text) : text;
}

namespace {

Schedule parse_product(Scanner& scan, double rate) {
  if (scan.take("cosine")) {
    scan.expect("(");
    const bool epochs = scan.take("epoch");
    if (!epochs && !scan.take("t")) scan.fail("'t' or 'epoch'");
    scan.expect("/");
    const double length = scan.number();
    const double last = scan.take(",") ? scan.number() : 0;
    scan.expect(")");
    return epochs ? Schedule::cosine_epochs(rate, length, last)
                  : Schedule::cosine_steps(rate, length, last);
  }
  const double factor = scan.number();
  scan.expect("^");
  if (scan.take("epoch")) return Schedule::exponential_epochs(rate, factor);
  if (!scan.take("(")) scan.fail("'epoch' or '(t/...)'");
  scan.expect("t");
  scan.expect("/");
  const double steps = scan.number();
  scan.expect(")");
  return Schedule::exponential_steps(rate, factor, steps);
}

Schedule parse_quotient(Scanner& scan, double rate) {
  scan.expect("(");
  scan.expect("t");
  double offset = 0;
  if (scan.take("+")) {
    offset = scan.number();
  } else if (scan.take("-")) {
    offset = -scan.number();
  }
  scan.expect(")");
  int power = 1;
  if (scan.take("^")) {
    const double found = scan.number();
    if (found != 1 && found != 2) scan.fail("the power 1 or 2");
    power = static_cast<int>(found);
  }
  return Schedule::inverse(rate, offset, power);
}

}  // namespace

Schedule Schedule::parse(std::string_view text) {
  Scanner scan("schedule", text);
  double warmup = 0;
  const bool warms = scan.take("warmup");
  if (warms) {
    scan.expect("(");
    warmup = scan.number();
    scan.expect(")");
    scan.expect("*");
  }
  Schedule schedule(scan.number());
  require(std::isfinite(schedule.rate_), "the rate", schedule.rate_, "a finite number");
  if (scan.take("*")) {
    schedule = parse_product(scan, schedule.rate_);
  } else if (scan.take("/")) {
    schedule = parse_quotient(scan, schedule.rate_);
  }
  scan.end();
  return warms ? schedule.with_warmup(warmup) : schedule;
}

}  // namespace tandem
