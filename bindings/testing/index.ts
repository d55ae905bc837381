/** `capstan/testing`: an API server in the process, its faults, and a clock that moves when told to. Node only. */
export { FakeClock } from '../clock.ts';
export type { Fault, FaultVerb, StreamFault, WatchPoint } from './faults.ts';
export { ApiServer, type ApiServerOptions, type ServerTls } from './server.ts';
