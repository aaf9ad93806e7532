/* A model that goes on learning on a Cortex-M4: predicts each row of rows.bin, learns it, and writes the predictions
 * and what they took to out.bin.  Files are those of the debugger or of QEMU (semihosting); a product reads its sensor.
 */
#include <stdint.h>

#include "model.h"

enum { OPEN = 0x01, WRITE = 0x05, READ = 0x06, EXIT = 0x20 };
enum { READ_BINARY = 1, WRITE_BINARY = 5 };

static int32_t host(int32_t operation, const void* arguments) {
  register int32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = arguments;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static int32_t open_file(const char* name, int32_t length, int32_t mode) {
  const uintptr_t arguments[3] = {(uintptr_t)name, (uintptr_t)mode, (uintptr_t)length};
  return host(OPEN, arguments);
}

static int32_t transfer(int32_t operation, int32_t file, const void* bytes, uint32_t count) {
  const uintptr_t arguments[3] = {(uintptr_t)file, (uintptr_t)bytes, count};
  return host(operation, arguments); /* how many bytes are missing */
}

/* The timer counts down from 2^24 - 1. */
#define TIMER_CONTROL (*(volatile uint32_t*)0xE000E010)
#define TIMER_RELOAD (*(volatile uint32_t*)0xE000E014)
#define TIMER_NOW (*(volatile uint32_t*)0xE000E018)
#define TIMER_LAST 0xFFFFFFu

static uint32_t since(uint32_t begin) { return (begin - TIMER_NOW) & TIMER_LAST; }

/* What the stack below `top`, its end at present, holds no pattern of has been in use. */
enum { PAINTED = 8192 };
static inline __attribute__((always_inline)) void paint(volatile uint8_t* top) {
  int i;
  for (i = 1; i <= PAINTED; ++i) top[-i] = 0xA5;
}
static inline __attribute__((always_inline)) uint32_t used(const volatile uint8_t* top) {
  int i = PAINTED;
  while (i > 0 && top[-i] == 0xA5) --i;
  return (uint32_t)i;
}

static pump_state state;
static struct {
  uint32_t rows, stack, state_bytes;
  uint64_t predict_ticks, learn_ticks;
} found;

int main(void) {
  const int32_t in = open_file("rows.bin", 8, READ_BINARY), out = open_file("out.bin", 7, WRITE_BINARY);
  float row[PUMP_FEATURES + 1], predicted;
  volatile uint8_t* top;
  uint32_t now;
  if (in < 0 || out < 0) return 1;
  __asm__ volatile("mov %0, sp" : "=r"(top));
  found.state_bytes = sizeof state;
  TIMER_RELOAD = TIMER_LAST;
  TIMER_NOW = 0;
  TIMER_CONTROL = 5; /* on, the processor's clock, no interrupt */
  begin(&state);
  while (transfer(READ, in, row, sizeof row) == 0) {
    if (found.rows == 0) paint(top);
    now = TIMER_NOW;
    predicted = predict(&state, row);
    found.predict_ticks += since(now);
    now = TIMER_NOW;
    learn(&state, row, row[PUMP_FEATURES]);
    found.learn_ticks += since(now);
    if (found.rows++ == 0) found.stack = used(top);
    transfer(WRITE, out, &predicted, sizeof predicted);
  }
  transfer(WRITE, out, &found, sizeof found);
  return 0;
}

/* --- what runs before main */

extern uint32_t data_begin[], data_end[], data_stored[], bss_begin[], bss_end[], stack_top[];

static __attribute__((noinline)) void start(void) {
  const uint32_t* from = data_stored;
  uint32_t* to;
  uintptr_t leave[2] = {0x20026 /* the application ends */, 0};
  for (to = data_begin; to < data_end; ++to) *to = *from++;
  for (to = bss_begin; to < bss_end; ++to) *to = 0;
  leave[1] = (uintptr_t)main();
  host(EXIT, leave);
  for (;;) {
  }
}

void reset(
    void) { /* a compiler may use the floating-point unit for any function: it is on before the first is called */
  *(volatile uint32_t*)0xE000ED88 |= 0xFu << 20;
  __asm__ volatile("dsb\n isb");
  start();
}

static void stop(void) {
  const uintptr_t leave[2] = {0x20023 /* a run-time error */, 2};
  host(EXIT, leave);
  for (;;) {
  }
}

__attribute__((section(".vectors"), used)) static void* const vectors[16] = {
    stack_top, (void*)reset, (void*)stop, (void*)stop, (void*)stop, (void*)stop, (void*)stop};
