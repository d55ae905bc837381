/**
 * A process of its own with a control plane, for the test that kills it: prints where it is, and
 * waits.
 */
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';

const { url, folder } = await ControlPlane.start();
console.log(JSON.stringify({ url, folder }));
process.stdin.resume(); // stays until it is killed
