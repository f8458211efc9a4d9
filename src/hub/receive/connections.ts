import type { Socket } from 'node:net';
import { made } from '../../base/made.ts';
import { networkOf } from './network.ts';

export interface ConnectionLimits {
  /** Of whom nothing is proved yet, overall: the rest is for those who have. */
  strangers: number;
  /** From one address, while nothing is proved; and from one network, where a host has many addresses. */
  perAddress: number;
  perNetwork: number;
  /** Of all users together: the rest is for nodes. */
  users: number;
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
 * each user has a share of their own, and all users together leave the rest to nodes. When there are too many, the one that
 * has waited longest is closed, so that somebody who comes anew, as an agent that was restarted, gets in.
 */
export class Connections {
  private readonly limits: ConnectionLimits;
  private readonly all = new Map<string, Connection>();
  /** By address, network or owner, oldest first. */
  private readonly groups = new Map<string, Set<Connection>>();

  constructor(limits: ConnectionLimits) {
    this.limits = limits;
  }

  add(socket: Socket): void {
    const key = keyOf(socket);
    const connection: Connection = { socket, address: socket.remoteAddress ?? '', owner: undefined, asking: false };
    this.all.set(key, connection);
    const { strangers, perNetwork, perAddress } = this.limits;
    for (const name of groupsOf(connection)) {
      const most = name === STRANGERS ? strangers : name.startsWith(NETWORK) ? perNetwork : perAddress;
      this.enter(name, connection, most);
    }
    socket.once('close', () => {
      if (this.all.get(key) === connection) this.all.delete(key);
      this.leave(connection);
    });
  }

  /**
   * Somebody has proved who they are, and has so many shares (a token may be that of many nodes). `socket`: as requests
   * know it; with TLS it lies around the one that was added.
   */
  prove(socket: Socket, owner: string, shares = 1): void {
    const connection = this.all.get(keyOf(socket));
    if (connection === undefined || connection.owner === owner) return;
    this.leave(connection);
    connection.owner = owner;
    const { users, perOwner } = this.limits;
    for (const name of groupsOf(connection)) this.enter(name, connection, name === USERS ? users : perOwner * shares);
  }

  /** What it has asked is complete and being looked at, or has been. */
  asking(socket: Socket, asking: boolean): void {
    const connection = this.all.get(keyOf(socket));
    if (connection !== undefined) connection.asking = asking;
  }

  private enter(name: string, connection: Connection, most: number): void {
    const group = made(this.groups, name, () => new Set<Connection>());
    if (group.size >= most) this.closeOldest(group, name);
    group.add(connection);
  }

  private closeOldest(group: ReadonlySet<Connection>, name: string): void {
    let oldest: Connection | undefined;
    // whoever has most of what is for all users makes room
    for (const each of name === USERS ? this.largestOfUsers() : group) {
      oldest ??= each;
      if (!each.asking) {
        oldest = each;
        break;
      }
    }
    if (oldest === undefined) return;
    const { socket, address, owner } = oldest;
    const many = `more than ${group.size} connections`;
    const where =
      name === STRANGERS ? ' overall' : name.startsWith(NETWORK) ? ` from ${name.slice(NETWORK.length)}` : '';
    this.limits.closed(
      owner ?? address,
      owner === undefined
        ? `${many}${where} that have not proved who they are: the oldest is closed`
        : `${many} of ${name === USERS ? 'users' : owner}: the oldest is closed`,
    );
    this.leave(oldest);
    socket.destroy();
  }

  private largestOfUsers(): ReadonlySet<Connection> {
    let largest: ReadonlySet<Connection> = new Set();
    for (const [name, group] of this.groups)
      if (name.startsWith(`of ${USER}`) && group.size > largest.size) largest = group;
    return largest;
  }

  private leave(connection: Connection): void {
    for (const name of groupsOf(connection)) {
      const group = this.groups.get(name);
      group?.delete(connection);
      if (group?.size === 0) this.groups.delete(name);
    }
  }
}

const STRANGERS = 'strangers';
const USERS = 'users';
const USER = 'user ';
const NETWORK = 'in ';
const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

function groupsOf({ address, owner }: Connection): string[] {
  if (owner !== undefined) return owner.startsWith(USER) ? [USERS, `of ${owner}`] : [`of ${owner}`];
  const network = networkOf(address);
  return [STRANGERS, ...(network === undefined ? [] : [`${NETWORK}${network}`]), `at ${address}`];
}
