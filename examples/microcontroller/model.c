#include "model.h"

void begin(pump_state* s) { pump_begin(s); }

float predict(const pump_state* s, const float* x) { return pump_predict(s, x); }

void learn(pump_state* s, const float* x, float y) { pump_learn(s, x, y, 1.0f); }
