/* Which CPU levels this machine can run, best last. Compiled for the baseline, without C++ or Eigen. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject* levels(PyObject* self, PyObject* args) {
  (void)self;
  (void)args;
  PyObject* list = PyList_New(0);
  if (list == NULL) return NULL;
#define ADD(name)                                        \
  do {                                                   \
    PyObject* text = PyUnicode_FromString(name);         \
    if (text == NULL || PyList_Append(list, text) < 0) { \
      Py_XDECREF(text);                                  \
      Py_DECREF(list);                                   \
      return NULL;                                       \
    }                                                    \
    Py_DECREF(text);                                     \
  } while (0)
  ADD("baseline");
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  /* __builtin_cpu_supports also asks the operating system whether it saves the wide registers. */
  __builtin_cpu_init();
  const int v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("ssse3");
  const int v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                 __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const int v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512vl");
  if (v2) ADD("v2");
  if (v3) ADD("v3");
  if (v4) ADD("v4");
#endif
#undef ADD
  return list;
}

static PyMethodDef methods[] = {{"levels", levels, METH_NOARGS, "CPU levels this machine can run, best last."},
                                {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_cpu", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__cpu(void) { return PyModuleDef_Init(&module); }
