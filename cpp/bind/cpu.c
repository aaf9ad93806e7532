/* Which CPU levels this machine can run, best last. Compiled for the baseline, without C++ or Eigen. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "x86_level.h"

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
  const int level = x86_level();
  if (level >= 2) ADD("v2");
  if (level >= 3) ADD("v3");
  if (level >= 4) ADD("v4");
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
