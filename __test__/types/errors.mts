import { expectTypeOf } from 'expect-type'
import {
  AbortError,
  OnnxTuneError,
  setRuntime,
  versions,
  type ArgumentError,
  type OnnxTuneErrorCode,
  type Versions
} from 'onnxtune'

function handle(error: unknown) {
  if (error instanceof AbortError) {
    expectTypeOf(error.code).toEqualTypeOf<'ABORT_ERR'>()
    expectTypeOf(error.name).toEqualTypeOf<'AbortError'>()
    expectTypeOf(error.cause).toEqualTypeOf<unknown>()
  } else if (error instanceof OnnxTuneError) {
    expectTypeOf(error).toExtend<Error>()
    expectTypeOf(error.code).toEqualTypeOf<OnnxTuneErrorCode>()
    expectTypeOf(error.input).toEqualTypeOf<string | undefined>()
    expectTypeOf(error.output).toEqualTypeOf<string | undefined>()
    expectTypeOf(error.library).toEqualTypeOf<string | undefined>()
    expectTypeOf(error.expected).toEqualTypeOf<unknown>()
    if (error.code === 'ERR_QUEUE_FULL') return 'busy'
    // @ts-expect-error there is no such code
    if (error.code === 'ERR_QUEUE_FUL') return 'busy'
  } else if (error instanceof TypeError || error instanceof RangeError) {
    const { code, input, output } = error as ArgumentError
    expectTypeOf(code).toEqualTypeOf<OnnxTuneErrorCode>()
    expectTypeOf(output).toEqualTypeOf<string | undefined>()
    expectTypeOf(input).toEqualTypeOf<string | undefined>()
  }
  return undefined
}
void handle(new OnnxTuneError('gone', { code: 'ERR_DISPOSED', cause: new Error('why') }))
void handle(new AbortError('reason'))

// @ts-expect-error an error has a code
void new OnnxTuneError('gone')
// @ts-expect-error there is no such code
void new OnnxTuneError('gone', { code: 'ERR_GONE' })

setRuntime({ libraryPath: '/opt/libonnxruntime.so' })
setRuntime({ libraryPath: new URL('file:///opt/libonnxruntime.so') })
expectTypeOf(await versions()).toEqualTypeOf<Versions>()

// @ts-expect-error the path is named
setRuntime('/opt/libonnxruntime.so')
// @ts-expect-error the path is not left out
setRuntime({})
