import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A machine's file system, with programs that say what a fitting machine's would. */
export class Box {
  readonly root = mkdtempSync(join(tmpdir(), "box-"));
  readonly bin = join(this.root, "bin");
  readonly #sockets: Server[] = [];
  readonly tokenFile = join(this.root, "join");

  constructor() {
    this.write("run/systemd/system/.keep", "");
    this.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    this.write("proc/swaps", "Filename Type Size Used Priority\n");
    this.write("proc/sys/net/ipv4/ip_forward", "1\n");
    this.write("proc/sys/net/bridge/bridge-nf-call-iptables", "1\n");
    this.write("proc/net/tcp", "  sl  local_address rem_address   st\n");
    this.write("etc/os-release", 'NAME=X\nPRETTY_NAME="Debian GNU/Linux 12"\n');
    this.program("systemctl", `echo "$@" >>${this.root}/systemctl.log`);
    this.program("kubelet", "echo Kubernetes v1.36.3");
    this.program("containerd", "echo containerd github.com/containerd/containerd v2.1.0 abc");
    this.program("id", "echo 0");
    this.program("hostname", '[ $# = 0 ] && echo m-1.example || echo "192.0.2.9 2001:db8::1 "');
    this.listen("run/containerd/containerd.sock");
  }

  write(path: string, text: string, mode = 0o644): void {
    const file = join(this.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, mode);
  }

  program(name: string, lines: string): void {
    this.write(`bin/${name}`, `#!/bin/sh\n${lines}\n`, 0o755);
  }

  remove(path: string): void {
    rmSync(join(this.root, path), { recursive: true, force: true });
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), "utf8");
  }

  mode(path: string): number {
    return statSync(join(this.root, path)).mode & 0o777;
  }

  listen(path: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    this.#sockets.push(createServer().listen(join(this.root, path)));
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}
