'use strict'

const binding = require('../binding.js')
const { call } = require('./call.js')
const { typeError } = require('./errors.js')
const { FROM_NATIVE, OnnxModule } = require('./module.js')
const { any, checkOptions, show } = require('./options.js')
const { TuneReport } = require('./report.js')
const { readPath } = require('./source.js')

/** The result of a tune; runs like an OnnxModule. */
class TunedModule extends OnnxModule {
  /** @type {TuneReport} */
  #report

  /** @param {symbol} key @param {import('../binding').NativeModule} native */
  constructor(key, native) {
    super(key, native)
    this.#report = new TuneReport(JSON.parse(/** @type {string} */ (native.report)))
  }

  /** For this package. @param {import('../binding').NativeModule} native */
  static fromNative(native) {
    return new TunedModule(FROM_NATIVE, native)
  }

  /** @param {string | URL} path @param {import('../index').CancelOptions} [options] */
  static async load(path, options) {
    const { signal } = checkOptions(options, { signal: any })
    const file = checkpointPath(path)
    return TunedModule.fromNative(await call(signal, (cancel) => binding.loadCheckpoint(file, cancel)))
  }

  get report() {
    return this.#report
  }

  /** The winning candidate. */
  get candidate() {
    return this.#report.candidates[this.#report.winner]
  }

  /** @param {string | URL} path @param {import('../index').CancelOptions} [options] */
  async save(path, options) {
    const { signal } = checkOptions(options, { signal: any })
    const file = checkpointPath(path)
    // Reading the report refuses whatever is no tuned module.
    void this.#report
    await call(signal, (cancel) => this.native(FROM_NATIVE).save(file, cancel))
  }
}

/** @param {unknown} path */
function checkpointPath(path) {
  const file = readPath(path)
  if (file === undefined) {
    throw typeError(`a checkpoint is given by path or file: URL, not by ${show(path)}`, {
      code: 'ERR_SOURCE',
      expected: 'string or URL',
      received: path === null ? 'null' : typeof path
    })
  }
  return file
}

module.exports = { TunedModule }
