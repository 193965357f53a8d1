// SPDX-License-Identifier: MIT
// How the paper may have run its experiments: every protocol of a study that trains whole grids on
// all seeds, scored by its distance to the paper's cells. The number of epochs, the loss that is
// reported and how settings are chosen follow from the same runs.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "paper/experiments.h"
#include "problems/loss.h"
#include "study/results.h"
#include "study/study_file.h"

namespace tandem::paper {

/// On which seeds settings are chosen, of Adam and of the other optimizer.
enum class Selection {
  one_seed,   // each in turn; the others are reported
  all_seeds,  // by the mean over those that are reported
};

struct Protocol {
  problems::Loss loss = problems::Loss::cross_entropy;
  std::map<std::string, std::string> data_options = {};  // bias, scale
  study::ReportLoss report = study::ReportLoss::total;
  std::size_t epochs = 0;
  Selection selection = Selection::one_seed;
};

/// One of the paper's cells beside ours.
struct ProtocolCell {
  std::string optimizer;
  double lambda = 0;
  double paper = 0;                // rho
  std::optional<double> rho = {};  // mean of `rhos`; none where there are none
  /// A rho for each pair of a seed that chooses and one that is reported, or for each seed.
  std::vector<double> rhos = {};
  std::size_t diverged = 0;  // how many have no rho, because a chosen setting diverged
};

/// How a cell of ours agrees with the paper's.
enum class Agreement {
  within_seeds,  // the paper's rho lies between the least and the greatest of ours over seeds
  same_sign,
  none,
};
Agreement agreement(const ProtocolCell& cell);

struct ProtocolScore {
  std::string data;
  Protocol protocol;
  std::vector<ProtocolCell> cells = {};
  /// Root of the mean square of (rho - paper's rho); a cell without a rho counts as rho = 0.
  double distance = 0;
  std::size_t same_sign = 0;  // cells
};

/// By rising distance, for the cells of Full-TO, Diag-TO and RO-TO that the study has. Throws
/// std::invalid_argument for a study that did not train its whole grids on all seeds, or has no
/// baseline.
std::vector<ProtocolScore> score_protocols(const study::StudySpec& spec,
                                           const study::StudyRuns& runs);

/// The distance of a table of zeros: what a protocol has to beat.
double distance_of_zeros(const ProtocolScore& score);

/// One protocol on several data sets, which the paper ran alike.
struct JointScore {
  Protocol protocol;
  std::vector<double> shares = {};  // distance over that of zeros, a data set each
  double joint = 0;                 // root of the mean of their squares
};

/// By rising joint distance, the protocols that all of these searches tried: none where their data
/// sets have other options.
std::vector<JointScore> joint_scores(const std::vector<std::vector<ProtocolScore>>& by_data);

/// How often a protocol would be as near as the nearest is, had the paper's lambdas other rho: its rows
/// are put into every order.
struct OrderTest {
  std::size_t orders = 0;   // of the lambdas, the paper's own among them
  std::size_t as_near = 0;  // orders that have a protocol at least as near; one or more
};

/// None with fewer than three lambdas. At most six lambdas, 720 orders, are put into order; throws
/// std::invalid_argument for more.
std::optional<OrderTest> order_test(const std::vector<ProtocolScore>& scores);

/// A form of momentum and a grid of rates, against the paper's column of momentum.
struct MomentumScore {
  std::string form;  // the label of its optimizer
  std::string grid;
  ProtocolScore score;
};

/// Every form that the study has, with TO's rates and with Adam's, under one protocol; by rising
/// distance.
std::vector<MomentumScore> score_momentum(const study::StudySpec& spec,
                                          const study::StudyRuns& runs, const Protocol& protocol);

/// The same in minutes: two lambdas, thinned grids, fewer epochs.
study::StudySpec quick_protocol(study::StudySpec spec);

}  // namespace tandem::paper
