'use strict'

const { SETTINGS } = require('./module.js')
const { arrayOf, checkOptions, instance } = require('./options.js')

/** ONNX Runtime on the CPU. What is given stays as it is; the rest is the tuner's to choose. */
class ONNXRuntimeBackend {
  /** @param {import('../index').SessionSettings} [options] */
  constructor(options) {
    /** @type {import('../index').SessionSettings} */
    this.options = Object.freeze({ ...checkOptions(options, SETTINGS) })
    Object.freeze(this)
  }
}

/** One backend against the untuned baseline, which stays unless it is beaten. */
class OneBackendStrategy {
  /** @param {ONNXRuntimeBackend} backend */
  constructor(backend) {
    instance(ONNXRuntimeBackend)(backend, 'backend')
    this.backend = backend
    Object.freeze(this)
  }

  toJSON() {
    return { name: /** @type {const} */ ('OneBackendStrategy'), backend: this.backend.options }
  }
}

/** The most items per second of all that can be found. */
class MaxThroughputStrategy {
  /** @param {import('../index').MaxThroughputOptions} [options] */
  constructor(options) {
    const { backends = [new ONNXRuntimeBackend()] } = checkOptions(options, {
      backends: arrayOf(instance(ONNXRuntimeBackend))
    })
    /** @type {readonly ONNXRuntimeBackend[]} */
    this.backends = Object.freeze([...backends])
    Object.freeze(this)
  }

  toJSON() {
    const backends = this.backends.map((backend) => backend.options)
    return { name: /** @type {const} */ ('MaxThroughputStrategy'), backends }
  }
}

module.exports = { MaxThroughputStrategy, ONNXRuntimeBackend, OneBackendStrategy }
