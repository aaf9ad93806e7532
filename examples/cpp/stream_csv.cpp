// Learns a CSV file row by row, the target in the last column: predicts each row, then learns it.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/stream/online_model.hpp"

using namespace kernsift;

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: stream_csv FILE GAMMA\n", 2;
  std::ifstream file(argv[1]);
  std::unique_ptr<OnlineModel> model;
  Vector predicted(1);
  double squares = 0;
  Index n = 0;
  for (std::string line; std::getline(file, line); ++n) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream numbers(line);
    std::vector<double> values{std::istream_iterator<double>(numbers), {}};
    const Index d = static_cast<Index>(values.size()) - 1;
    const Eigen::Map<const Vector> x(values.data(), d), y(values.data() + d, 1);
    if (!model)
      model = std::make_unique<OnlineModel>(
          Kernel(kernel_kind("rbf"), Vector::Constant(d, std::stod(argv[2])), 3, 1.0, x), 1, OnlineSettings{});
    model->predict_one(x, predicted);
    squares += (y - predicted).squaredNorm();
    model->update(x, y, 1.0);
  }
  std::cout << n << " rows, " << model->dictionary().size() << " kernels, error " << std::sqrt(squares / n) << "\n";
}
