/* The least that a deep copy can cost: new dicts and lists, leaves shared, nothing checked.

   It measures no size, refuses nothing, overflows the stack on a cycle, and is of no other use
   than to compare with. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *copy(PyObject *value)
{
    if (PyDict_CheckExact(value)) {
        PyObject *result = PyDict_Copy(value), *key, *item;
        Py_ssize_t position = 0;
        if (result == NULL)
            return NULL;
        while (PyDict_Next(result, &position, &key, &item)) {
            if (PyDict_CheckExact(item) || PyList_CheckExact(item)) {
                PyObject *below = copy(item);
                if (below == NULL || PyDict_SetItem(result, key, below) < 0) {
                    Py_XDECREF(below);
                    Py_DECREF(result);
                    return NULL;
                }
                Py_DECREF(below);
            }
        }
        return result;
    }
    if (PyList_CheckExact(value)) {
        Py_ssize_t size = PyList_GET_SIZE(value);
        PyObject *result = PyList_New(size);
        if (result == NULL)
            return NULL;
        for (Py_ssize_t index = 0; index < size; index++) {
            PyObject *item = PyList_GET_ITEM(value, index);
            PyObject *below;
            if (PyDict_CheckExact(item) || PyList_CheckExact(item)) {
                below = copy(item);
                if (below == NULL) {
                    Py_DECREF(result);
                    return NULL;
                }
            } else {
                Py_INCREF(item);
                below = item;
            }
            PyList_SET_ITEM(result, index, below);
        }
        return result;
    }
    Py_INCREF(value);
    return value;
}

static PyObject *floor_clone(PyObject *module, PyObject *value)
{
    return copy(value);
}

static PyMethodDef methods[] = {
    {"clone", floor_clone, METH_O, "A deep copy that checks nothing."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_floor", NULL, 0, methods};

PyMODINIT_FUNC PyInit__floor(void)
{
    return PyModule_Create(&definition);
}
