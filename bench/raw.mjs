// The process of raw_loop.rs. It sleeps while it is not asked, so that rounds of it and of this process can take turns.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TARGET = process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target')
const PROGRAM = join(TARGET, 'release', 'examples', process.platform === 'win32' ? 'raw_loop.exe' : 'raw_loop')

export class RawLoop {
  #child
  #lines
  #models = 0

  /** @param {string} library path of the runtime library: the one that our package runs on */
  constructor(library) {
    this.#child = spawn(PROGRAM, [library], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ORT_DISABLE_TELEMETRY: '1' }
    })
    this.#child.on('error', (error) => {
      throw new Error(`${PROGRAM} cannot be started; \`npm run bench\` builds it`, { cause: error })
    })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /** @param {object} command as raw_loop.rs lists them @returns {Promise<any>} */
  async ask(command) {
    this.#child.stdin.write(JSON.stringify(command) + '\n')
    const { done, value } = await this.#lines.next()
    if (done) throw new Error('raw_loop ended early')
    return JSON.parse(value)
  }

  /** @param {import('./models.mjs').Model} model @param {number} threads */
  async load({ path, inputs }, threads) {
    const plain = inputs.map(({ type, dims, data }) => ({ type, dims, data: Array.from(data, Number) }))
    const { outputs } = await this.ask({ op: 'load', path, threads, inputs: plain })
    return { model: this.#models++, outputs }
  }

  /**
   * Microseconds that two threads take to wake each other, there and back; none where that cannot be measured.
   * @param {'free' | 'oneProcessor' | 'twoProcessors'} placement @param {number} rounds @returns {Promise<number[]>}
   */
  async wake(placement, rounds) {
    return (await this.ask({ op: 'wake', placement, rounds })).micros
  }

  async close() {
    const closed = once(this.#child, 'close')
    this.#child.stdin.end()
    await closed
  }
}
