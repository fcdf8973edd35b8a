import { minilm } from './minilm.mjs'
import { ocr } from './ocr.mjs'

/**
 * What the demo shows, by name. Each recipe makes the samples of one model and says what its outputs mean; all else is
 * the same for every model.
 */
export const recipes = { ocr, minilm }
