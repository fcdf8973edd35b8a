'use strict'

const { SETTINGS } = require('./module.js')
const { arrayOf, checkOptions, instance } = require('./options.js')

/** ONNX Runtime on the CPU. What is given stays as it is; the rest is the tuner's to choose. */
class ONNXRuntimeBackend {
  /** @param {any} [options] */
  constructor(options) {
    this.options = Object.freeze({ ...checkOptions(options, SETTINGS) })
    Object.freeze(this)
  }
}

/** One backend against the untuned baseline, which stays unless it is beaten. */
class OneBackendStrategy {
  /** @param {any} backend */
  constructor(backend) {
    instance(ONNXRuntimeBackend)(backend, 'backend')
    this.backend = backend
    Object.freeze(this)
  }

  toJSON() {
    return { name: 'OneBackendStrategy', backend: this.backend.options }
  }
}

/** The most items per second of all that can be found. */
class MaxThroughputStrategy {
  /** @param {any} [options] */
  constructor(options) {
    const { backends = [new ONNXRuntimeBackend()] } = checkOptions(options, { backends: arrayOf(instance(ONNXRuntimeBackend)) })
    this.backends = Object.freeze([...backends])
    Object.freeze(this)
  }

  toJSON() {
    return { name: 'MaxThroughputStrategy', backends: this.backends.map((/** @type {any} */ backend) => backend.options) }
  }
}

module.exports = { MaxThroughputStrategy, ONNXRuntimeBackend, OneBackendStrategy }
