/* The exported model, compiled once. */
#ifndef MODEL_H
#define MODEL_H

#include "pump.h"

void begin(pump_state* s);
float predict(const pump_state* s, const float* x);
void learn(pump_state* s, const float* x, float y);

#endif
