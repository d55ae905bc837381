/** `capstan/testing` for the test suite of the embedded server when it runs on a real one. */
import {
  fakeClient as embeddedClient,
  type FakeClient,
  type FakeClientOptions,
} from '../../../bindings/testing/fake-client.ts';
import {
  fakeTransport as embeddedTransport,
  type FakeTransport,
  type FakeTransportOptions,
} from '../../../bindings/testing/fake-transport.ts';
import { onlyEmbedded } from './api-server.ts';

export { FakeClock } from '../../../bindings/base/clock.ts';
export { FakeRecorder } from '../../../bindings/testing/fake-recorder.ts';
export { RoundTripError, roundTrips } from '../../../bindings/testing/round-trips.ts';
export { startEnvtest } from '../../../bindings/testing/start-envtest.ts';
export { statusErrors } from '../../../bindings/testing/status-errors.ts';
export { startTestServer } from '../../../bindings/testing/test-server.ts';
export { RealApiServer as ApiServer } from './api-server.ts';

export function fakeClient(options?: FakeClientOptions): FakeClient {
  onlyEmbedded('fakeClient');
  return embeddedClient(options);
}

export function fakeTransport(options?: FakeTransportOptions): FakeTransport {
  onlyEmbedded('fakeTransport');
  return embeddedTransport(options);
}
