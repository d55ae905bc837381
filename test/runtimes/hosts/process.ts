/** The suite in a process of its own (Node, Deno, Bun): `process.ts RUNTIME KEYS`. Messages are marked lines of the output. */
import { MARK } from '../report.ts';
import { runSuite } from '../suite.ts';

const [runtime = '', keys = ''] = process.argv.slice(2);
await runSuite(runtime, keys, (message) => console.log(MARK + JSON.stringify(message)));
