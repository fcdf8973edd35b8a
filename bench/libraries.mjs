// The two libraries behind one face. They are imported when first asked for: children measure what that takes.

/** @typedef {import('./models.mjs').Model} Model */
/**
 * @typedef {object} Loaded
 * @property {any} handle the library's own object
 * @property {any} inputs made once, so that calls are measured and not the making of tensors
 * @property {() => Promise<Record<string, { data: any }>>} run
 * @property {() => Promise<void>} dispose
 */

/** @typedef {'onnxtune' | 'onnxruntime-node'} Library */

/** Theirs is second everywhere. @type {readonly Library[]} */
export const LIBRARIES = ['onnxtune', 'onnxruntime-node']

/** @param {Library} library @returns {Promise<any>} */
export async function open(library) {
  const module = await (library === 'onnxtune' ? import('../index.js') : import('onnxruntime-node'))
  return module.default ?? module
}

/**
 * Loads a model, with the library's defaults unless `options` are given: ours are translated for the peer.
 * @param {Library} library @param {Model} model @param {{ threads?: number, inline?: 'auto' }} [options]
 * @returns {Promise<Loaded>}
 */
export async function load(library, model, options = {}) {
  const { OnnxModule, InferenceSession, Tensor } = await open(library)
  const inputs = Object.fromEntries(
    model.inputs.map(({ name, type, data, dims }) => [name, new Tensor(type, data, dims)])
  )
  if (library === 'onnxtune') {
    const handle = await OnnxModule.load(model.path, options)
    return { handle, inputs, run: () => handle.run(inputs), dispose: () => handle.dispose() }
  }
  const { threads } = options
  const settings = threads === undefined ? {} : { intraOpNumThreads: threads, interOpNumThreads: 1 }
  const handle = await InferenceSession.create(model.path, settings)
  return { handle, inputs, run: () => handle.run(inputs), dispose: () => handle.release() }
}

/** What `work` gives; nothing where the version at hand does not know an option yet. @template T @param {() => T} work */
export async function ifKnown(work) {
  try {
    return await work()
  } catch (error) {
    if (/** @type {any} */ (error).code === 'ERR_OPTION') return undefined
    throw error
  }
}

/**
 * Throws unless both computed the same, since only then are their times comparable.
 * @param {string} what @param {ArrayLike<number | bigint>} ours @param {ArrayLike<number | bigint>} others
 */
export function checkSame(what, ours, others) {
  for (let index = 0; index < Math.min(ours.length, others.length); index++) {
    const [mine, other] = [Number(ours[index]), Number(others[index])]
    if (!(Math.abs(mine - other) <= 1e-3 * (1 + Math.abs(other)))) {
      throw new Error(`${what}: one computed ${mine}, the other ${other}`)
    }
  }
}
