// Holds what index.js exports to what index.d.ts promises, both ways round.

import { expectTypeOf } from 'expect-type'
import * as implemented from 'implementation'
import * as declared from 'onnxtune'

expectTypeOf<keyof typeof implemented>().toEqualTypeOf<keyof typeof declared>()

const face: typeof declared = implemented
void face
