// What the image knarr.local/nginx has besides nginx.
import type { TarEntry } from "./tar.ts";

/**
 * Requests still come for a moment after a pod is told to end, until every proxy has heard of it; nginx would refuse them at once.
 * `localhost` is ::1 for some programs, so it listens there too, unless the kernel has no IPv6.
 *
 * A signal may come at any moment. It is only noted, since `wait` ends by it with a code that is not that of nginx; from then on the
 * shell hears no other. A shell starts programs in the background with SIGQUIT ignored, so it does not end nginx before nginx has a
 * handler for it, but is lost, too: it is sent until nginx has ended.
 */
export const nginxStartScript = (drainMs = 2000, folder = "/run/nginx"): string => `#!/bin/sh
[ "$1" = nginx ] || exec "$@"
trap 'asked=yes' TERM QUIT
[ ! -e /proc/net/if_inet6 ] || echo 'listen [::]:80;' >${folder}/ipv6.conf
"$@" &
nginx=$!
until [ -n "$asked" ]; do
  wait "$nginx"
  code=$?
  [ -n "$asked" ] || exit "$code"
done
trap '' TERM QUIT
sleep ${drainMs / 1000}
while kill -QUIT "$nginx" 2>/dev/null; do sleep 0.1; done
wait "$nginx"
`;

const configuration = `user www-data;
worker_processes 1;
pid /run/nginx/nginx.pid;
error_log stderr notice;
events {
  worker_connections 1024;
}
http {
  include mime.types;
  default_type application/octet-stream;
  access_log /dev/stdout;
  sendfile on;
  server {
    listen 80;
    include /run/nginx/*.conf;
    root /usr/share/nginx/html;
    ssi on;
    location = /healthz {
      access_log off;
      default_type text/plain;
      return 200 "ok\\n";
    }
  }
}
`;

const page = (version: string): string => `<!DOCTYPE html>
<html lang="en">
<head><title>Welcome to nginx!</title></head>
<body>
<h1>Welcome to nginx!</h1>
<p>Version ${version}, served by <!--# echo var="hostname" -->.</p>
</body>
</html>
`;

export const nginxStart = "/usr/sbin/start-nginx";

export const nginxFiles: readonly TarEntry[] = [
  { name: nginxStart.slice(1), mode: 0o755, content: Buffer.from(nginxStartScript()) },
  { name: "etc/nginx/nginx.conf", content: Buffer.from(configuration) },
  { name: "run/nginx/" },
  { name: "var/lib/nginx/" },
  // What it logs before it has read its configuration.
  { name: "var/log/nginx/error.log", link: "/dev/stderr" },
  { name: "var/log/nginx/access.log", link: "/dev/stdout" },
];

/** The layer in which versions differ. */
export const nginxPage = (version: string): readonly TarEntry[] => [
  { name: "usr/share/nginx/html/index.html", content: Buffer.from(page(version)) },
];
