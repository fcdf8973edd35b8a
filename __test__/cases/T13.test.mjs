// T13 (microsoft/onnxruntime#20559, #6793, #14694): a model that the runtime does not know is refused without a reason, and
// one that it does know fills stderr.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { OnnxModule, OnnxTuneError, readGraph, versions } from '../../index.js'
import { extended, field, generated, runQuietly, throwsFault } from '../helpers.mjs'

// OperatorSetIdProto: domain 1, version 2; of ModelProto 8. NodeProto: input 1, output 2, op_type 4, domain 7; of GraphProto
// 1; of ModelProto 7.
const opset = (domain, version) => field(8, [field(1, domain), field(2, version)])
const node = (type, domain = '', input = 'x') =>
  field(7, [field(1, [field(1, input), field(2, `of ${type}`), field(4, type), field(7, domain)])])

const OPERATOR = 'ERR_OPERATOR_UNSUPPORTED'
const REFUSED = {
  'IR version 99': [generated('future_ir'), 'ERR_IR_UNSUPPORTED', [/IR version 99\b/, /\b1[3-9]\b/]],
  'opset 99': [generated('future_opset'), 'ERR_OPSET_UNSUPPORTED', [/opset 99\b/, /ai\.onnx\b/, /\b2\d\b/]],
  'opset 99 of ai.onnx.ml': [
    extended('zipmap', opset('ai.onnx.ml', 99)),
    'ERR_OPSET_UNSUPPORTED',
    [/opset 99\b/, /ai\.onnx\.ml\b/, /\b[5-9]\b/]
  ],
  'com.foo::Bar': [generated('unknown_op'), OPERATOR, [/com\.foo::Bar/, /opset 1\b|\(1\)/]],
  'com.foo::Bar at opset 7': [
    extended('identity', opset('com.foo', 7), node('Bar', 'com.foo')),
    OPERATOR,
    [/com\.foo::Bar/, /opset 7\b|\(7\)/]
  ],
  'com.foo::Bar without an opset': [
    extended('identity', node('Bar', 'com.foo')),
    'ERR_MODEL_LOAD',
    [/\bBar\b/, /com\.foo/]
  ],
  'an operator that the standard domain lacks': [
    extended('identity', node('Bar')),
    OPERATOR,
    [/\bBar\b/, /ai\.onnx\b/, /opset 17\b|\(17\)/]
  ],
  'an operator that ai.onnx.ml lacks': [
    extended('zipmap', node('Bar', 'ai.onnx.ml', 'float_input')),
    OPERATOR,
    [/ai\.onnx\.ml::Bar/, /opset 1\b|\(1\)/]
  ],
  'Relu at opset 1': [generated('relu_opset1'), OPERATOR, [/\bRelu\b/, /ai\.onnx\b/, /opset 1\b|\(1\)/]]
}

for (const [what, [source, code, told]] of Object.entries(REFUSED)) {
  test(`${what} is refused without operator, domain, opset or the maximum`, async () => {
    const error = await throwsFault(OnnxModule.load(source), OnnxTuneError, code)
    for (const pattern of told) assert.match(error.message, pattern)
    if (code === 'ERR_MODEL_LOAD') return
    assert.ok(error.message.includes((await versions()).onnxruntime), 'the version of the runtime is told')
    assert.equal(typeof error.hint, 'string')
  })

  test(`${what} keeps the graph's facts from being read`, async () => {
    const info = await readGraph(source)
    assert.ok(info.inputs.length > 0 && info.outputs.length > 0 && info.operators.length > 0)
    if (what === 'IR version 99') assert.equal(info.irVersion, 99)
    if (what === 'opset 99') assert.deepEqual([info.opsets, info.opsetVersion], [{ '': 99 }, 99])
    if (what === 'com.foo::Bar') assert.deepEqual(info.operators, ['com.foo::Bar'])
    if (what === 'Relu at opset 1') assert.deepEqual(info.opsets, { '': 1 })
  })
}

test('a domain without an operator keeps a model from being loaded', async () => {
  const module = await OnnxModule.load(extended('identity', opset('com.foo', 3)))
  assert.deepEqual(module.graphInfo.opsets, { '': 17, 'com.foo': 3 })
  assert.deepEqual((await module.run(new Float32Array(4))).y.dims, [1, 4])
  await module.dispose()
})

test('200 unused initialisers fill stderr, as do models that are refused', async () => {
  const sources = Object.values(REFUSED).filter(([source]) => typeof source === 'string')
  const program = `const codes = []
    for (const graphOptimization of ['disabled', 'basic', 'extended', 'all']) {
      const module = await onnxtune.OnnxModule.load(generated('unused_initializers'), { graphOptimization })
      codes.push((await module.run(new Float32Array(4))).y.size)
      await module.dispose()
    }
    const tuned = await onnxtune.tune(generated('unused_initializers'), [new Float32Array(4)], { budgetMs: 200 })
    codes.push(tuned.runSync(new Float32Array(4)).y.size)
    for (const source of ${JSON.stringify(sources.map(([source]) => source))}) {
      await onnxtune.OnnxModule.load(source).catch(({ code }) => codes.push(code))
    }
    console.log(JSON.stringify(codes))`
  assert.deepEqual(await runQuietly(program), [4, 4, 4, 4, 4, ...sources.map(([, code]) => code)])
})

test('the names of 200 unused initialisers are taken for inputs', async () => {
  const { inputNames, parameters } = await readGraph(generated('unused_initializers'))
  assert.deepEqual({ inputNames, parameters }, { inputNames: ['x'], parameters: 800 })
})
