import type { Socket } from 'node:net';

export interface ConnectionLimits {
  /** Of whom nothing is proved yet, overall: the rest is for those who have. */
  strangers: number;
  /** From one address, while nothing is proved. */
  perAddress: number;
  /** Of one user, or of one node. */
  perOwner: number;
  /** One of them was closed: whose (an address, or a name), and why. */
  closed(whose: string, why: string): void;
}

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  /** The node or user who proved to be there; undefined: nobody yet. */
  owner: string | undefined;
  /** What it has asked is being looked at: it goes last. */
  asking: boolean;
}

/**
 * Who holds connections. Whoever has not proved who they are can have few, and never all that there are; each node and
 * each user has a share of their own. When there are too many, the one that has waited longest is closed, so that
 * somebody who comes anew, as an agent that was restarted, gets in.
 */
export class Connections {
  private readonly limits: ConnectionLimits;
  private readonly all = new Map<string, Connection>();
  /** By address or owner, oldest first. */
  private readonly groups = new Map<string, Set<Connection>>();

  constructor(limits: ConnectionLimits) {
    this.limits = limits;
  }

  add(socket: Socket): void {
    const key = keyOf(socket);
    const connection: Connection = { socket, address: socket.remoteAddress ?? '', owner: undefined, asking: false };
    this.all.set(key, connection);
    this.enter(STRANGERS, connection, this.limits.strangers);
    this.enter(groupOf(connection), connection, this.limits.perAddress);
    socket.once('close', () => {
      if (this.all.get(key) === connection) this.all.delete(key);
      this.leave(groupOf(connection), connection);
      this.leave(STRANGERS, connection);
    });
  }

  /**
   * Somebody has proved who they are, and has so many shares (a token may be that of many nodes). `socket`: as requests
   * know it; with TLS it lies around the one that was added.
   */
  prove(socket: Socket, owner: string, shares = 1): void {
    const connection = this.all.get(keyOf(socket));
    if (connection === undefined || connection.owner === owner) return;
    this.leave(groupOf(connection), connection);
    this.leave(STRANGERS, connection);
    connection.owner = owner;
    this.enter(groupOf(connection), connection, this.limits.perOwner * shares);
  }

  /** What it has asked is complete and being looked at, or has been. */
  asking(socket: Socket, asking: boolean): void {
    const connection = this.all.get(keyOf(socket));
    if (connection !== undefined) connection.asking = asking;
  }

  private enter(name: string, connection: Connection, most: number): void {
    let group = this.groups.get(name);
    if (group === undefined) {
      group = new Set();
      this.groups.set(name, group);
    }
    if (group.size >= most) this.closeOldest(group, name);
    group.add(connection);
  }

  private closeOldest(group: ReadonlySet<Connection>, name: string): void {
    let oldest: Connection | undefined;
    for (const each of group) {
      oldest ??= each;
      if (!each.asking) {
        oldest = each;
        break;
      }
    }
    if (oldest === undefined) return;
    const { socket, address, owner } = oldest;
    const whose = owner ?? address;
    const overall = name === STRANGERS ? ' overall' : '';
    this.limits.closed(
      whose,
      owner === undefined
        ? `more than ${group.size} connections${overall} that have not proved who they are: the oldest is closed`
        : `more than ${group.size} connections of ${owner}: the oldest is closed`,
    );
    this.leave(name, oldest);
    socket.destroy();
  }

  private leave(name: string, connection: Connection): void {
    const group = this.groups.get(name);
    group?.delete(connection);
    if (group?.size === 0) this.groups.delete(name);
  }
}

const STRANGERS = 'strangers';
const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
const groupOf = ({ address, owner }: Connection): string => (owner === undefined ? `at ${address}` : `of ${owner}`);
