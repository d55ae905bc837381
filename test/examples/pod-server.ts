/**
 * A server on loopback that answers logs, commands and port-forwards of Pods as a kube-apiserver
 * does, by WebSockets with the protocols `v5.channel.k8s.io` and `v4.channel.k8s.io`.
 * k8s.io/apimachinery: pkg/util/remotecommand; RFC 6455.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { serve } from '../helpers/http-servers.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** A connection that was upgraded. */
export interface Channels {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** What the client has sent, the channel's number in front. */
  readonly received: Buffer[];
  /** Calls the function with each message, also with those that have come. */
  onMessage(listen: (channel: number, data: Buffer) => void): void;
  send(channel: number, data: string | Uint8Array): void;
  close(): void;
}

export interface PodServer {
  readonly url: string;
  readonly requests: IncomingMessage[];
}

/** @param protocol what the server chooses of those that the client offers */
export async function podServer(
  protocol: string,
  upgraded: (channels: Channels) => void,
  answer: RequestListener = (_, response) => response.writeHead(404).end(),
): Promise<PodServer> {
  const requests: IncomingMessage[] = [];
  const server = await serve((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  const sockets: Socket[] = [];
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await server.stop();
  });
  server.server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    requests.push(request);
    sockets.push(socket.on('error', () => undefined));
    const offered = String(request.headers['sec-websocket-protocol']).split(/, */);
    if (!offered.includes(protocol)) {
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
      return;
    }
    const key = `${request.headers['sec-websocket-key']}${GUID}`;
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n' +
        `sec-websocket-accept: ${createHash('sha1').update(key).digest('base64')}\r\n` +
        `sec-websocket-protocol: ${protocol}\r\n\r\n`,
    );
    upgraded(channelsOf(request, socket));
  });
  return { url: server.url, requests };
}

function channelsOf(request: IncomingMessage, socket: Socket): Channels {
  const received: Buffer[] = [];
  let listener: ((channel: number, data: Buffer) => void) | undefined;
  let bytes = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (let frame = frameOf(bytes); frame !== undefined; frame = frameOf(bytes)) {
      bytes = bytes.subarray(frame.length);
      if (frame.opcode === 8) socket.end(Buffer.from([0x88, 0]));
      if (frame.opcode !== 1 && frame.opcode !== 2) continue;
      received.push(frame.data);
      listener?.(frame.data[0] ?? -1, frame.data.subarray(1));
    }
  });
  return {
    request,
    socket,
    received,
    onMessage(listen) {
      for (const data of received) listen(data[0] ?? -1, data.subarray(1));
      listener = listen;
    },
    send(channel, data) {
      const payload = Buffer.concat([Buffer.from([channel]), Buffer.from(data as string)]);
      const { length } = payload;
      const head = length < 126 ? [0x82, length] : [0x82, 126, length >> 8, length & 255];
      socket.write(Buffer.concat([Buffer.from(head), payload]));
    },
    close: () => void socket.end(Buffer.from([0x88, 0])),
  };
}

/** The first whole frame of a client, whose payload is masked. */
function frameOf(bytes: Buffer) {
  if (bytes.length < 6) return undefined;
  const opcode = bytes.readUInt8(0) & 15;
  const short = bytes.readUInt8(1) & 127;
  if (short === 127) throw new Error('a frame of more than 64 KiB');
  const at = short === 126 ? 4 : 2;
  const size = short === 126 ? bytes.readUInt16BE(2) : short;
  const length = at + 4 + size;
  if (bytes.length < length) return undefined;
  const mask = bytes.subarray(at, at + 4);
  const data = Buffer.from(bytes.subarray(at + 4, length));
  for (const [i, byte] of data.entries()) data[i] = byte ^ (mask[i % 4] ?? 0);
  return { opcode, data, length };
}
