/**
 * The suite in a process (Node, Deno, Bun): `process.ts CLAIMS`. Messages are marked lines of the
 * output.
 */
import { type Claims, MARK } from '../report.ts';
import { runSuite } from '../suite.ts';

const claims = JSON.parse(process.argv[2] ?? '') as Claims;
await runSuite(claims, (message) => console.log(MARK + JSON.stringify(message)));
