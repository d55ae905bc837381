/** The worker thread of the embedded API server. See embedded-server.ts. */
import { parentPort } from 'node:worker_threads';
import { ApiServer, type Fault } from 'capstan/testing';

export type Command =
  | { do: 'inject'; id: number; fault: Fault }
  | { do: 'takeBack'; id: number }
  | { do: 'expireHistory' | 'dropConnections' | 'stop' };

const server = await ApiServer.start();
const injected = new Map<number, () => void>();

parentPort?.on('message', async (command: Command) => {
  switch (command.do) {
    case 'inject':
      injected.set(command.id, server.inject(command.fault));
      return;
    case 'takeBack':
      injected.get(command.id)?.();
      injected.delete(command.id);
      return;
    case 'stop':
      await server.stop();
      parentPort?.close(); // ends the thread
      return;
    default:
      server[command.do]();
  }
});
parentPort?.postMessage(server.url);
