'use strict'

const { FROM_NATIVE, OnnxModule } = require('./module.js')

/**
 * Runs work on a module, or on the model at a path, which is loaded for it and disposed afterwards.
 * @template T
 * @param {import('../index').Target} target @param {AbortSignal | undefined} signal
 * @param {(native: import('../binding').NativeModule, module: OnnxModule) => Promise<T>} work
 */
async function withTarget(target, signal, work) {
  if (target instanceof OnnxModule) return work(target.native(FROM_NATIVE), target)
  const module = await OnnxModule.load(/** @type {import('../index').ModelSource} */ (target), { signal })
  try {
    return await work(module.native(FROM_NATIVE), module)
  } finally {
    await module.dispose()
  }
}

module.exports = { withTarget }
