'use strict'

const binding = require('../binding.js')
const { call } = require('./call.js')
const { OnnxTuneError, fromNative } = require('./errors.js')
const { prepare } = require('./inputs.js')
const { any, boolean, checkOptions, integer, oneOf } = require('./options.js')
const { readSource } = require('./source.js')
const { fromNativeOutput } = require('./tensor.js')

/** Settings of ONNX Runtime on the CPU, shared with `ONNXRuntimeBackend`. */
const SETTINGS = {
  threads: integer(1, 1024),
  callers: integer(1, 1024),
  spinning: boolean,
  graphOptimization: oneOf(['disabled', 'basic', 'extended', 'all'])
}

const LOAD_OPTIONS = { ...SETTINGS, externalData: any, signal: any }
const RUN_OPTIONS = { signal: any }

/** The first releases of Node 20 lack the symbol. @type {typeof Symbol.asyncDispose} */
const ASYNC_DISPOSE = /** @type {any} */ (Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose'))

/** Keeps the constructors to this package: modules come from `load` and `tune`. */
const FROM_NATIVE = Symbol('native')

/** A loaded model. */
class OnnxModule {
  /** @type {import('../binding').NativeModule} */
  #native
  /** @type {import('../index').GraphInfo} */
  #graphInfo
  /** @type {import('../index').BackendInfo} */
  #backend
  /** @type {Promise<void> | undefined} */
  #disposal

  /** @param {symbol} key @param {import('../binding').NativeModule} native */
  constructor(key, native) {
    if (key !== FROM_NATIVE) {
      throw new OnnxTuneError('modules are made by OnnxModule.load, tune and TunedModule.load', {
        code: 'ERR_CONSTRUCTOR'
      })
    }
    this.#native = native
    this.#graphInfo = deepFreeze(JSON.parse(native.graphInfo))
    this.#backend = deepFreeze(JSON.parse(native.backend))
  }

  /** @param {import('../index').ModelSource} source @param {import('../index').LoadOptions} [options] */
  static async load(source, options) {
    const { signal, externalData, ...settings } = checkOptions(options, LOAD_OPTIONS)
    const { path, bytes, external } = readSource(source, externalData)
    const native = await call(signal, (cancel) =>
      binding.loadModule(path, bytes, external, JSON.stringify(settings), cancel)
    )
    return new OnnxModule(FROM_NATIVE, native)
  }

  get graphInfo() {
    return this.#graphInfo
  }

  /** @type {'cpu'} */
  get device() {
    return 'cpu'
  }

  get backend() {
    return this.#backend
  }

  /**
   * @param {import('../index').Inputs} inputs @param {import('../index').RunOptions} [options]
   * @returns {Promise<any>}
   */
  async run(inputs, options) {
    const { signal } = checkOptions(options, RUN_OPTIONS)
    // Arguments are read before the first await, so that they count as they are at call time.
    const { data, dims } = prepare(this.#graphInfo.inputs, inputs)
    return this.#outputs(await call(signal, (cancel) => this.#native.run(data, dims, cancel)))
  }

  /** @param {import('../index').Inputs} inputs @param {{}} [options] none yet @returns {any} */
  runSync(inputs, options) {
    checkOptions(options, {})
    const { data, dims } = prepare(this.#graphInfo.inputs, inputs)
    let outputs
    try {
      outputs = this.#native.runSync(data, dims)
    } catch (error) {
      throw fromNative(error)
    }
    return this.#outputs(outputs)
  }

  async dispose() {
    this.#disposal ??= call(undefined, () => this.#native.dispose())
    await this.#disposal
  }

  async [ASYNC_DISPOSE]() {
    await this.dispose()
  }

  /** @param {import('../binding').NativeOutput[]} values */
  #outputs(values) {
    /** @type {Record<string, import('../index').OutputValue>} */
    const outputs = {}
    this.#graphInfo.outputs.forEach((info, index) => {
      const value = fromNativeOutput(values[index])
      // Assignment would set the prototype instead.
      if (info.name === '__proto__')
        Object.defineProperty(outputs, info.name, { value, enumerable: true, writable: true, configurable: true })
      else outputs[info.name] = value
    })
    return outputs
  }

  /** For this package. @param {symbol} key */
  native(key) {
    if (key !== FROM_NATIVE) throw new OnnxTuneError('native is internal', { code: 'ERR_CONSTRUCTOR' })
    return this.#native
  }
}

/** Facts that inputs are checked against must not change. @template T @param {T} value @returns {T} */
function deepFreeze(value) {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze)
  return value
}

module.exports = { FROM_NATIVE, OnnxModule, SETTINGS }
