'use strict'

const binding = require('../binding.js')
const { call } = require('./call.js')
const { OnnxTuneError, fromNative } = require('./errors.js')
const { STORAGE } = require('./dtype.js')
const { planInputs, prepare } = require('./inputs.js')
const {
  above,
  any,
  arrayOf,
  boolean,
  checkOptions,
  integer,
  object,
  oneOf,
  recordOf,
  string,
  wrong
} = require('./options.js')
const { bits, readOutputs, wantOutputs } = require('./outputs.js')
const { checkDims } = require('./shape.js')
const { readPath, readSource } = require('./source.js')

/** Settings of ONNX Runtime on the CPU, shared with `ONNXRuntimeBackend`. */
const SETTINGS = {
  threads: integer(1, 1024),
  callers: integer(1, 1024),
  spinning: boolean,
  graphOptimization: oneOf(['disabled', 'basic', 'extended', 'all']),
  executionMode: oneOf(['sequential', 'parallel']),
  interOpThreads: integer(1, 1024),
  flushDenormals: boolean,
  memoryArena: boolean,
  memoryPattern: boolean,
  dimensionOverrides: recordOf(integer(0, Number.MAX_SAFE_INTEGER)),
  configEntries: recordOf(string)
}

/** How a module is served; no part of what a tune finds. */
const SERVING = {
  queueLimit: integer(1),
  inline: oneOf(['never', 'auto']),
  optimizedModelPath: any,
  profiling: any,
  externalData: any,
  providers: arrayOf(oneOf(['cpu', 'cuda', 'tensorrt'])),
  fallback: boolean,
  signal: any
}

const RUN_OPTIONS = {
  signal: any,
  // The longest that a timer can wait; it would fire at once for more.
  timeoutMs: above(0, 2 ** 31 - 1),
  outputs: arrayOf(string),
  into: object,
  ignoreExtraInputs: boolean
}
const RUN_SYNC_OPTIONS = { outputs: RUN_OPTIONS.outputs, into: object, ignoreExtraInputs: boolean }
/** Of a run without any. @type {import('../index').RunOptions} */
const NONE = {}

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
  /** As the session takes them, which may be narrower than the graph says. */
  #inputs
  #runSync
  #plans
  #all

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
    const { dimensionOverrides } = this.#backend.settings.backend
    this.#inputs = this.#graphInfo.inputs.map((info) => withLengths(info, dimensionOverrides ?? {}))
    this.#runSync = native.syncRunner()
    this.#plans = planInputs(this.#inputs)
    this.#all = wantOutputs(this.#graphInfo.outputs, undefined, undefined)
  }

  /** @param {import('../index').ModelSource} source @param {import('../index').LoadOptions} [options] */
  static async load(source, options) {
    const {
      signal,
      externalData,
      queueLimit,
      inline,
      optimizedModelPath,
      profiling,
      providers,
      fallback,
      ...settings
    } = checkOptions(options, { ...SETTINGS, ...SERVING })
    const { path, bytes, external, folder } = readSource(source, externalData)
    const files = {
      optimizedModelPath: optionalPath(optimizedModelPath, 'optimizedModelPath'),
      profilePrefix:
        profiling === true
          ? 'onnxtune-profile'
          : optionalPath(profiling === false ? undefined : profiling, 'profiling', 'a boolean, a path or a file: URL')
    }
    const serving = { queueLimit, inline: inline === 'auto', files, providers, fallback }
    const native = await call(signal, (cancel) =>
      binding.loadModule(path, bytes, external, folder, JSON.stringify({ settings, serving }), cancel)
    )
    const module = new OnnxModule(FROM_NATIVE, native)
    warnOfFallback(module.backend)
    return module
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
    const { signal, timeoutMs, outputs, into, ignoreExtraInputs } =
      options === undefined ? NONE : checkOptions(options, RUN_OPTIONS)
    const wanted = this.#want(outputs, into)
    const ignoreExtra = ignoreExtraInputs === true
    // Arguments are read inside the call, before the first await, so that they count as they are at call time.
    const flat = await call(
      signal,
      (cancel) => {
        const { data, dims } = prepare(this.#plans, inputs, { ignoreExtra })
        return this.#native.run(data, dims, wanted.indices, bits(wanted.into), cancel)
      },
      timeoutMs
    )
    return readOutputs(flat, wanted)
  }

  /**
   * @param {import('../index').Inputs} inputs @param {import('../index').RunSyncOptions} [options] @returns {any}
   */
  runSync(inputs, options) {
    const { outputs, into, ignoreExtraInputs } = options === undefined ? NONE : checkOptions(options, RUN_SYNC_OPTIONS)
    const wanted = this.#want(outputs, into)
    const { data, dims } = prepare(this.#plans, inputs, { ignoreExtra: ignoreExtraInputs === true })
    try {
      const into = bits(wanted.into)
      const result =
        into === undefined
          ? this.#runSync(dims, wanted.indices, ...data)
          : this.#runSync(dims, wanted.indices, ...data, ...into)
      return readOutputs(result, wanted, dims)
    } catch (error) {
      throw fromNative(error)
    }
  }

  /** @param {readonly string[] | undefined} names @param {any} into */
  #want(names, into) {
    return names === undefined && into === undefined ? this.#all : wantOutputs(this.#graphInfo.outputs, names, into)
  }

  /** @param {Readonly<Record<string, readonly number[]>>} [shapes] by input; what is unknown and not given is 1 */
  async warmup(shapes) {
    const given = checkOptions(shapes, Object.fromEntries(this.#inputs.map(({ name }) => [name, lengths])), 'shapes')
    const zeros = this.#inputs.map((info) =>
      zeroInput(info, Object.hasOwn(given, info.name) ? given[info.name] : undefined)
    )
    await this.run(Object.fromEntries(zeros))
  }

  /** @returns {readonly import('../index').Placement[]} */
  get placement() {
    try {
      return JSON.parse(this.#native.placement())
    } catch (error) {
      throw fromNative(error)
    }
  }

  /** @returns {Promise<import('../index').Profile | null>} */
  async endProfiling() {
    const json = await call(undefined, () => this.#native.endProfiling())
    return json === null ? null : JSON.parse(json)
  }

  async dispose() {
    this.#disposal ??= call(undefined, () => this.#native.dispose())
    await this.#disposal
  }

  async [ASYNC_DISPOSE]() {
    await this.dispose()
  }

  /** For this package. @param {symbol} key */
  native(key) {
    if (key !== FROM_NATIVE) throw new OnnxTuneError('native is internal', { code: 'ERR_CONSTRUCTOR' })
    return this.#native
  }
}

/** @param {unknown} value @param {string} name @param {string} [expected] */
function optionalPath(value, name, expected = 'a path or a file: URL') {
  if (value === undefined) return undefined
  const path = readPath(value)
  if (path === undefined) throw wrong(value, `options.${name}`, expected)
  return path
}

/**
 * With the lengths that its symbolic dimensions were loaded with.
 * @param {import('../index').ValueInfo} info @param {Readonly<Record<string, number>>} overrides
 * @returns {import('../index').ValueInfo}
 */
function withLengths(info, overrides) {
  if (info.shape === null) return info
  const fix = (/** @type {import('../index').Dim} */ dim) =>
    typeof dim === 'string' && Object.hasOwn(overrides, dim) ? overrides[dim] : dim
  return { ...info, shape: info.shape.map(fix) }
}

/** @type {import('./options.js').Check} */
const lengths = (value, name) => {
  const good = Array.isArray(value) && value.every((dim) => Number.isInteger(dim) && dim >= 0)
  if (!good) throw wrong(value, name, 'an array of non-negative integers')
}

/** @param {import('../index').ValueInfo} info @param {readonly number[] | undefined} shape @returns {[string, any]} */
function zeroInput(info, shape) {
  const dims = shape ?? (info.shape ?? []).map((dim) => (typeof dim === 'number' ? dim : 1))
  // Before anything is allocated for them.
  checkDims(info, dims, false)
  const size = dims.reduce((product, dim) => product * dim, 1)
  if (info.dtype === 'string') return [info.name, { data: new Array(size).fill(''), dims }]
  if (info.dtype === null) {
    return [info.name, info.type.startsWith('optional(') ? null : info.type.startsWith('map(') ? new Map() : []]
  }
  const { array, perElement } = STORAGE[info.dtype]
  return [info.name, { data: new array(Math.ceil(size * perElement)), dims }]
}

/** Providers whose absence has been told. @type {Set<string>} */
const warned = new Set()

/** @param {import('../index').BackendInfo} backend */
function warnOfFallback({ fallback, provider }) {
  if (fallback === null || warned.has(fallback.requested)) return
  warned.add(fallback.requested)
  process.emitWarning(`onnxtune runs on ${provider} instead of ${fallback.requested}: ${fallback.reason}`, {
    code: 'ONNXTUNE_FALLBACK'
  })
}

/** Facts that inputs are checked against must not change. @template T @param {T} value @returns {T} */
function deepFreeze(value) {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze)
  return value
}

module.exports = { FROM_NATIVE, OnnxModule, SETTINGS }
