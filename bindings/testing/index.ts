/**
 * `capstan/testing`: an API server in the process, its faults, a client on it without a socket, and
 * a clock that a test advances. Node only.
 */

export { FakeClock } from '../base/clock.ts';
export type { Transport } from '../cache/rest/transport.ts';
export type { Envtest, EnvtestUser } from './envtest/envtest.ts';
export type { EnvtestOptions } from './envtest/options.ts';
export { type FakeClient, type FakeClientOptions, fakeClient } from './fake-client.ts';
export { FakeRecorder } from './fake-recorder.ts';
export {
  type FakeResource,
  type FakeTransport,
  type FakeTransportOptions,
  fakeTransport,
} from './fake-transport.ts';
export {
  RoundTripError,
  type RoundTripOptions,
  roundTrips,
  type VersionSchema,
} from './round-trips.ts';
export type { Authorization } from './server/auth/access.ts';
export type { ServerUser } from './server/auth/users.ts';
export type { Fault, FaultVerb, StreamFault, WatchPoint } from './server/faults.ts';
export {
  ApiServer,
  type ApiServerOptions,
  type ServerTls,
  type ServerTransportOptions,
} from './server/server.ts';
export type { ServingOptions } from './server/serving-options.ts';
export { startEnvtest } from './start-envtest.ts';
export { type FieldCause, type RetryAfter, statusErrors } from './status-errors.ts';
export { startTestServer, type TestServer, type TestServerOptions } from './test-server.ts';
