/* The text of an exported header, by sections (_c_text.py). In what is written `model` is the name the caller gives,
 * `real` is float or double, words in capitals are numbers, names or labels, _T is the number of a term, the parts of
 * #ifdef are those of the model at hand; without an update step the parameter s goes. */

// ---- exp
static inline real model_exp(real x) { /* exp(x) for x <= 0 */
  /* x = r - n ln 2 with |r| <= ln(2)/2, a Taylor polynomial in r, and 2^-n by squaring */
  real r, p = LAST, power = HALF, scale = 1;
  int n;
  if (!(x > LOWEST)) return 0;
  n = (int)(HALF - x * LOG2E);
  r = (x + (real)n * HIGH) + (real)n * LOW;
  HORNER;
  for (; n > 0; n >>= 1) {
    if (n & 1) scale *= power;
    power *= power;
  }
  return p * scale;
}

// ---- sqrt
static inline real model_sqrt(real x) { /* 0 <= x <= 1e8 */
  real y, scale = 1;
  int i;
  if (!(x > 0)) return 0;
  for (; x > 4; x *= QUARTER) scale *= 2;
  for (; x < 1; x *= 4) scale *= HALF;
  y = HALF * (x + 1);
  for (i = 0; i < ROUNDS; ++i) y = HALF * (y + x / y);
  return y * scale;
}

// ---- unknown
static inline real model_unknown(const real* x, int n) { /* 0, or NaN where one of x is NaN or infinite */
  real sum = 0;
  int j;
  for (j = 0; j < n; ++j) sum += x[j] * 0;
  return sum;
}

// ---- encode
static inline void model_encode(const real* row, real* x) { /* the steps before the model */
  real t;
  OPERATIONS;
}

// ---- stationary
static inline void model_prepare_T(const real* x, real* z) {
#ifdef WARPED
  real u, h;
  int b, j;
  for (j = 0; j < COORDINATES; ++j) {
    u = x[j] - model_centre_T[j];
    z[j] = -model_scale_T[j];
    for (b = 0; b < BINS; ++b) {
      h = (u - model_knots_T[j][b]) * model_per_length_T[j][b];
      z[j] += model_slopes_T[j][b] * (h < 0 ? 0 : h > 1 ? 1 : h);
    }
  }
#else
  int j;
  for (j = 0; j < COORDINATES; ++j) z[j] = (x[j] - model_centre_T[j]) * model_scale_T[j];
#endif
}

static inline real model_kernel_T(int i, const real* z) {
  real t = 0, u;
  int j;
  for (j = 0; j < COORDINATES; ++j) {
    u = z[j] - model_vectors_T[i][j];
#ifdef ABSOLUTE
    t += u < 0 ? -u : u;
#else
    t += u * u;
#endif
  }
#ifdef EXPONENTIAL
  return model_exp(-t);
#endif
#ifdef MATERN32
  if (t > FAR) t = FAR;
  t = model_sqrt(3 * t);
  return (1 + t) * model_exp(-t);
#endif
#ifdef MATERN52
  if (t > FAR) t = FAR;
  u = model_sqrt(5 * t);
  return (1 + u + THIRD * t) * model_exp(-u);
#endif
}

// ---- polynomial
static inline real model_kernel_T(int i, const real* x) {
  real t = 0, power = 1;
  int j;
  for (j = 0; j < COORDINATES; ++j) t += model_vectors_T[i][j] * x[j];
  t += COEF0;
  for (j = 0; j < DEGREE; ++j) power *= t;
  return power;
}

// ---- add linear
static inline void model_add_T(const real* x, real* out) {
  int j, o;
  for (o = 0; o < OUTPUTS; ++o)
    for (j = 0; j < COORDINATES; ++j) out[o] += model_weights_T[o][j] * x[j];
}

// ---- add kernels
static inline void model_add_T(const real* x, real* out) {
#ifdef STATIONARY
  real z[COORDINATES];
#endif
  int i, o;
#ifdef STATIONARY
  model_prepare_T(x, z);
#endif
  for (i = 0; i < KERNELS; ++i) {
    const real k = model_kernel_T(i, ROW);
    for (o = 0; o < OUTPUTS; ++o) out[o] += model_coef_T[i][o] * k;
  }
}

// ---- scores
static inline void model_scores(const real* GIVEN, real* out) {
#ifdef ENCODED
  real x[COORDINATES];
  model_encode(GIVEN, x);
#endif
  const real unknown = model_unknown(x, COORDINATES);
  int o;
  for (o = 0; o < OUTPUTS; ++o) out[o] = model_intercept[o] + unknown;
#ifdef ANY
  TERMS;
#endif
#ifdef BOUNDED
  for (o = 0; o < OUTPUTS; ++o) {
    if (out[o] < model_least[o]) out[o] = model_least[o];
    if (out[o] > model_largest[o]) out[o] = model_largest[o];
  }
#endif
}

// ---- deviation
static inline void model_deviations(const real* GIVEN, real* out) { /* of a new observation, one an output */
#ifdef ENCODED
  real x[COORDINATES];
  model_encode(GIVEN, x);
#endif
  const real unknown = model_unknown(x, COORDINATES);
  real w[KERNELS], sums[GROUPS];
#ifdef SPANNED
  real rest = 1;
#endif
#ifdef VARYING
  real level[OUTPUTS], f[OUTPUTS];
#endif
#ifdef STATIONARY
  real z[COORDINATES];
#endif
  int i, j, o;
#ifdef STATIONARY
  model_prepare_T(x, z);
#endif
#ifdef VARYING
  model_scores(GIVEN, f);
  for (o = 0; o < OUTPUTS; ++o) {
    level[o] = model_level[o];
    for (i = 0; i < OUTPUTS; ++i) level[o] += model_level_slopes[i][o] * f[i];
#ifdef SLOPED
    for (j = 0; j < COORDINATES; ++j) level[o] += model_level_along[j][o] * x[j];
#endif
  }
#endif
  for (i = 0; i < KERNELS; ++i) { /* w = L^-1 k */
    real t = model_kernel_T(i, ROW);
#ifdef VARYING
    for (o = 0; o < OUTPUTS; ++o) level[o] += model_level_coef[i][o] * t;
#endif
#ifdef SPANNED
    for (j = 0; j < i; ++j) t -= model_span[i * (i + 1) / 2 + j] * w[j];
    w[i] = t / model_span[i * (i + 1) / 2 + i];
    rest -= w[i] * w[i];
#else
    w[i] = t;
#endif
  }
  for (o = 0; o < GROUPS; ++o) {
    sums[o] = 1;
    for (i = o * DIRECTIONS; i < (o + 1) * DIRECTIONS; ++i) {
      real u = model_spread[i][0];
      for (j = 0; j < KERNELS; ++j) u += model_spread[i][j + 1] * w[j];
#ifdef SLOPED
      for (j = 0; j < COORDINATES; ++j) u += model_along[i][j] * x[j];
#endif
      sums[o] += u * u;
    }
#ifdef SPANNED
    if (rest > 0) sums[o] += PRIOR * rest;
#endif
    sums[o] = model_sqrt(sums[o]);
  }
  for (o = 0; o < OUTPUTS; ++o) {
    out[o] = model_deviation_scale[o] * sums[GROUP] + unknown;
#ifdef VARYING
    if (level[o] < model_lowest[o]) level[o] = model_lowest[o];
    if (level[o] > model_highest[o]) level[o] = model_highest[o];
    level[o] *= HALF;
    out[o] *= level[o] < 0 ? model_exp(level[o]) : 1 / model_exp(-level[o]);
#endif
  }
}

// ---- deviation value
static inline real model_predict_std(const model_state* s, const real* x) {
  real out;
  model_deviations(s, x, &out);
  return out;
}

// ---- deviation values
static inline void model_predict_std(const model_state* s, const real* x, real* out) { model_deviations(s, x, out); }

// ---- state
typedef struct {                  /* the caller's: copy it, keep it, one for each stream */
  real theta[DIMENSION][OUTPUTS]; /* coefficients of the coordinates */
  real d[DIMENSION];              /* covariance U D U': D, */
  real u[PACKED];                 /* and U above its diagonal of ones, by columns */
#ifdef SCALED
  real squares[OUTPUTS]; /* of errors made before their row was learned, over their variance: discounted sum, */
  real counted[OUTPUTS]; /* and how many */
#endif
} model_state;

static inline void model_begin(model_state* s) { /* as it was when written */
  int i, o;
  for (i = 0; i < DIMENSION; ++i) {
    s->d[i] = model_first_d[i];
    for (o = 0; o < OUTPUTS; ++o) s->theta[i][o] = model_first_theta[i][o];
  }
  for (i = 0; i < PACKED; ++i) s->u[i] = model_first_u[i];
#ifdef SCALED
  for (o = 0; o < OUTPUTS; ++o) {
    s->squares[o] = model_first_squares[o];
    s->counted[o] = model_first_counted[o];
  }
#endif
}

static inline void model_coordinates(const real* x, real* w) { /* w = [1; L^-1 k], the 1 only with a bias */
#ifdef STATIONARY
  real z[COORDINATES];
#endif
  int i, j;
#ifdef CONSTANT
  w[0] = 1;
#endif
#ifdef STATIONARY
  model_prepare(x, z);
#endif
  for (i = 0; i < KERNELS; ++i) {
    const real* row = model_factor + i * (i + 1) / 2;
    real t = model_kernel(i, ROW);
    for (j = 0; j < i; ++j) t -= row[j] * w[BIAS + j];
    w[BIAS + i] = t / row[i];
  }
}

static inline void model_at(const model_state* s, const real* w, real* out) {
  int i, o;
  for (o = 0; o < OUTPUTS; ++o) {
    out[o] = 0;
    for (i = 0; i < DIMENSION; ++i) out[o] += w[i] * s->theta[i][o];
  }
}

static inline void model_scores(const model_state* s, const real* GIVEN, real* out) {
#ifdef ENCODED
  real x[COORDINATES];
  model_encode(GIVEN, x);
#endif
  const real unknown = model_unknown(x, COORDINATES);
  real w[DIMENSION];
  int o;
  model_coordinates(x, w);
  model_at(s, w, out);
  for (o = 0; o < OUTPUTS; ++o) out[o] += unknown;
}

static inline void model_update(model_state* s, const real* GIVEN, const real* y, real weight) {
#ifdef ENCODED
  real x[COORDINATES];
  model_encode(GIVEN, x);
#endif
  real w[DIMENSION], b[DIMENSION], e[OUTPUTS], before, now;
#ifdef SCALED
  real relative = 1, rest = 1;
#endif
  int i, j, o;
  if (!(weight > LEAST) || model_unknown(x, COORDINATES) != 0 || model_unknown(y, OUTPUTS) != 0) return;
  model_coordinates(x, w);
  model_at(s, w, e);
  for (o = 0; o < OUTPUTS; ++o) e[o] = y[o] - e[o];
  before = 1 / weight;
  for (j = 0; j < DIMENSION; ++j) { /* Bierman's update of U and D; b becomes the gain times `now` */
    real* u = s->u + j * (j - 1) / 2;
    real f = w[j], v, p;
    for (i = 0; i < j; ++i) f += u[i] * w[i];
    v = s->d[j] * f;
#ifdef SCALED
    relative += v * f;
    if (j >= BIAS) rest -= w[j] * w[j];
#endif
    now = before + v * f;
    s->d[j] *= before / now;
    p = f / before;
    for (i = 0; i < j; ++i) {
      const real old = u[i];
      u[i] -= b[i] * p;
      b[i] += old * v;
    }
    b[j] = v;
    before = now;
  }
  for (i = 0; i < DIMENSION; ++i)
    for (o = 0; o < OUTPUTS; ++o) s->theta[i][o] += b[i] * e[o] / before;
#ifdef SCALED
  if (rest > 0) relative += PRIOR * rest;
  for (o = 0; o < OUTPUTS; ++o) {
    const real mean = s->squares[o] / s->counted[o], z = e[o] / model_deviation_scale[o];
    const real square = z * z / (relative * mean);
    s->squares[o] = KEPT * s->squares[o] + (square < MOST ? square : MOST) * mean;
    s->counted[o] = KEPT * s->counted[o] + 1;
  }
#endif
}

// ---- deviation learning
static inline void model_deviations(const model_state* s, const real* GIVEN, real* out) { /* with the running scale */
#ifdef ENCODED
  real x[COORDINATES];
  model_encode(GIVEN, x);
#endif
  const real unknown = model_unknown(x, COORDINATES);
  real w[DIMENSION], sum = 1, rest = 1;
  int i, j, o;
  model_coordinates(x, w);
  for (j = 0; j < DIMENSION; ++j) {
    const real* u = s->u + j * (j - 1) / 2;
    real f = w[j];
    for (i = 0; i < j; ++i) f += u[i] * w[i];
    sum += s->d[j] * f * f;
    if (j >= BIAS) rest -= w[j] * w[j];
  }
  if (rest > 0) sum += PRIOR * rest;
  for (o = 0; o < OUTPUTS; ++o)
    out[o] = model_deviation_scale[o] * model_sqrt(sum * s->squares[o] / s->counted[o]) + unknown;
}

// ---- value
static inline real model_predict(const model_state* s, const real* x) {
  real out;
  model_scores(s, x, &out);
  return out;
}

// ---- values
static inline void model_predict(const model_state* s, const real* x, real* out) { model_scores(s, x, out); }

// ---- transform
static inline void model_transform(const model_state* s, const real* x, real* out) { model_scores(s, x, out); }

// ---- class
static inline int model_predict(const model_state* s, const real* x) { /* number of the class, or -1 */
  real scores[OUTPUTS];
#ifdef SEVERAL
  int best = 0, i;
#endif
  model_scores(s, x, scores);
  if (scores[0] != scores[0]) return -1;
#ifdef SEVERAL
  for (i = 1; i < OUTPUTS; ++i)
    if (scores[i] > scores[best]) best = i;
  return best;
#else
  return scores[0] > 0;
#endif
}

static inline LABEL model_label(int k) {
  static LABEL const labels[CLASSES] = {LABELS};
  return k < 0 ? 0 : labels[k];
}

// ---- probabilities
static inline void model_probabilities(const model_state* s, const real* x, real* out) { /* one a class */
  real top, sum = 0;
  int i;
  model_scores(s, x, out);
#ifndef SEVERAL
  out[1] = out[0];
  out[0] = -out[1];
#endif
  top = out[0];
  for (i = 1; i < CLASSES; ++i)
    if (out[i] > top) top = out[i];
  for (i = 0; i < CLASSES; ++i) sum += out[i] = model_exp(TEMPERATURE * (out[i] - top));
  for (i = 0; i < CLASSES; ++i) out[i] /= sum;
}

// ---- learn class
static inline void model_learn(model_state* s, const real* x, int k, real weight) { /* k: number of the class */
  real y[OUTPUTS];
  int o;
#ifdef SEVERAL
  for (o = 0; o < OUTPUTS; ++o) y[o] = o == k ? 1 : -1;
#else
  for (o = 0; o < OUTPUTS; ++o) y[o] = k == 1 ? 1 : -1;
#endif
  model_update(s, x, y, weight);
}

// ---- learn value
static inline void model_learn(model_state* s, const real* x, real y, real weight) { model_update(s, x, &y, weight); }

// ---- learn values
static inline void model_learn(model_state* s, const real* x, const real* y, real weight) {
  model_update(s, x, y, weight);
}
