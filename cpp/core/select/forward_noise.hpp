// Errors and noise variance of a forward selection, which must count that the kernels were chosen by the targets.
#pragma once

#include <vector>

#include "core/select/forward_selection.hpp"

namespace kernsift {

// A whole selection: rows X (n, d), Y (n, outputs) of positive weights v; the rows `candidates` (ascending) may become
// kernels, each with every one of the kernels given.
struct SelectionTask {
  const std::vector<Kernel>& kernels;
  Rows X, Y;
  ConstVectorRef v;
  std::vector<Index> candidates;
  SelectionSettings settings;
  std::size_t cache_bytes;
};

struct Selected {
  std::vector<Index> chosen, width;  // row and kernel of each, as added, those after the best included
  Index n_basis;                     // how many of them the model keeps
  ForwardSelection::Model model;
  double rows;
  std::vector<double> gcv_path, alpha_path, rss_path, score_path;
  Index n_dependent;
  Ending ending;
};
Selected select_forward(const SelectionTask& task);
// Doubles it takes for at most `most` kernels.
double select_forward_memory(const SelectionSettings& settings, Index n, Index d, Index outputs, Index candidates,
                             Index widths, Index most, double cache_bytes);

// How far the model is from rows that had no part in it, and the noise variance that follows from them.
struct LeftOutRows {
  Vector noise;             // of each output
  std::vector<Index> rows;  // some of X, in no order
  Matrix errors;            // y - f of each, (rows, outputs)
  Vector model;             // variance of the model at each, in units of the noise
};
// The least of many candidates fits the noise too: errors of the rows of the fit are far too small where rows are few
// or kernels many. There the selection is made again without a fifth of the rows at a time, until enough rows were
// held out. Elsewhere single rows are left out in closed form, a degree of freedom counted as it is when GCV chooses a
// ridge; the noise is rows rss / (rows - 1.4 spent)^2.
LeftOutRows left_out_rows(const SelectionTask& task, const Selected& found);

}  // namespace kernsift
