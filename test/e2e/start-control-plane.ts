/** A process with a control plane, for the test that kills it: prints its address, and waits. */
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';

const { url, folder } = await ControlPlane.start();
console.log(JSON.stringify({ url, folder }));
process.stdin.resume(); // keeps the process running until it is killed
