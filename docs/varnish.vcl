vcl 4.1;

# VCL for Varnish Cache and Vinyl Cache before or behind pagecache: docs/varnish.md. Needs varnish-modules (xkey, var).
# For Varnish Cache 7 and later and Vinyl Cache 9. For Varnish Cache 6.0, replace ban_pages as docs/varnish.md says.
# Adapt the backend and the three ACLs. pagecache's tests run this file with only the backend's address changed.

import std;
import var;
import xkey;

# The source of pages: pagecache if Varnish is before it, the shop if Varnish is behind it.
backend default {
  .host = "127.0.0.1";
  .port = "8080";
  .connect_timeout = 5s;
  .first_byte_timeout = 60s;
  .between_bytes_timeout = 60s;
}

# Addresses that may purge: the machines that pagecache runs on. Never a machine that forwards visitors' requests.
acl purgers {
  "127.0.0.1";
  "::1";
}

# Addresses that see the tags of a page: a pagecache before this Varnish, which needs them to purge its own pages.
acl tag_readers {
  "127.0.0.1";
  "::1";
}

# Addresses whose X-Forwarded-* and Surrogate-Capability fields are true: TLS terminators before this Varnish, which must replace what visitors send,
# and a pagecache before it.
acl forwarders {
  "127.0.0.1";
  "::1";
}

sub vcl_recv {
  if (req.method == "PURGE" || req.method == "BAN") {
    if (client.ip !~ purgers) {
      return (synth(403, "Forbidden"));
    }
    # The fence: responses that are being fetched now are older than this purge, and vcl_backend_response does not store them.
    var.global_set("fence", "purge " + req.xid);
    if (req.method == "BAN") {
      call ban_pages;
    }
    if (req.http.xkey && req.http.xkey-softpurge) {
      return (synth(200, "Invalidated " + xkey.softpurge(req.http.xkey) + " objects"));
    }
    if (req.http.xkey) {
      return (synth(200, "Invalidated " + xkey.purge(req.http.xkey) + " objects"));
    }
    if (req.http.xkey-softpurge) {
      return (synth(200, "Invalidated " + xkey.softpurge(req.http.xkey-softpurge) + " objects"));
    }
    call canonical_url;
    return (purge);
  }

  # The backend trusts this Varnish. A visitor who names another site here would fill this page with a page of that site.
  if (client.ip !~ forwarders) {
    unset req.http.Forwarded;
    unset req.http.X-Forwarded-Host;
    unset req.http.X-Forwarded-Port;
    unset req.http.X-Forwarded-Prefix;
    unset req.http.X-Forwarded-Proto;
    # A visitor who offers to assemble pages would fill this page with markup.
    unset req.http.Surrogate-Capability;
    set req.http.X-Forwarded-For = client.ip;
  }

  if (req.method != "GET" && req.method != "HEAD") {
    return (pass);
  }
  if (req.http.Authorization || req.url ~ "^/(checkout|account|admin|api)(/|\?|$)") {
    return (pass);
  }
  call canonical_url;
  set req.http.x-variant = regsub(req.http.Cookie, "(?:^|.*; ?)sw-cache-hash=([^;]*).*|.*", "\1")
    + "|" + regsub(req.http.Cookie, "(?:^|.*; ?)sw-currency=([^;]*).*|.*", "\1")
    + "|" + req.http.X-Forwarded-Proto
    + "|" + req.http.Surrogate-Capability;
  return (hash);
}

# `BAN /` bans everything; any other URL is a regular expression for path and query.
sub ban_pages {
  if (req.url == "/") {
    ban("obj.status != 0");
    return (synth(200, "Banned everything"));
  }
  if (std.ban("obj.http.x-url ~ " + req.url)) {
    return (synth(200, "Banned"));
  }
  return (synth(400, "This is no regular expression"));
}

# Removes marketing parameters and sorts the others, because pagecache purges URLs in this form.
sub canonical_url {
  if (req.url ~ "\?") {
    set req.url = regsuball(req.url, "([?&])(utm_[^=&]*|gclid|gclsrc|gbraid|wbraid|gad_[^=&]*|dclid|fbclid|msclkid|mc_cid|mc_eid|_ga|_gl|srsltid)(=[^&]*)?(?=&|$)", "\1");
    set req.url = regsub(regsub(regsuball(req.url, "&&+", "&"), "\?&+", "?"), "[?&]+$", "");
    set req.url = std.querysort(req.url);
  }
}

sub vcl_backend_fetch {
  # Requests the tags from a pagecache behind this Varnish; it shows them to its trustedProxies only.
  set bereq.http.x-pagecache-tags = "1";
  # The prefix makes the comparison work before the first purge, when there is no mark: in VCL an unset value is not equal to itself.
  var.set("fence", "mark " + var.global_get("fence"));
  # Not sent to the backend: pagecache does not store responses that may depend on an unknown request field.
  if (bereq.http.x-variant) {
    var.set("variant", bereq.http.x-variant);
    unset bereq.http.x-variant;
  }
}

sub vcl_backend_response {
  set bereq.http.x-variant = var.get("variant");
  # `Vary: *` must not be stored. Varnish's own check no longer matches once a name is appended below.
  if (beresp.http.Vary ~ "(^|,)[ \t]*\*[ \t]*(,|$)") {
    set beresp.ttl = 0s;
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    set beresp.uncacheable = true;
    return (deliver);
  }
  # Bans only test the object, so that Varnish can process them in the background.
  set beresp.http.x-url = bereq.url;
  # Variants use Vary instead of the hash, so that a purge of a URL removes all of them.
  if (beresp.http.Vary) {
    set beresp.http.Vary = beresp.http.Vary + ", x-variant";
  } else {
    set beresp.http.Vary = "x-variant";
  }
  if (beresp.http.Set-Cookie && beresp.http.Cache-Control ~ "(?i)\b(public|s-maxage)\b") {
    unset beresp.http.Set-Cookie;
  }
  # An answer to a visitor with cookies may be personal, unless the shop says that it is for everyone. Pages that are stored already
  # are served to all; this fetches concurrently for two minutes, or until an answer can be stored.
  if (bereq.http.Cookie && beresp.http.Cache-Control !~ "(?i)\b(public|s-maxage)\b") {
    set beresp.ttl = 120s;
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    set beresp.uncacheable = true;
    return (deliver);
  }
  # A page that is stale by age or by a soft purge may be served while it is renewed, unless the shop forbids it (RFC 9111 §4.2.4).
  if (beresp.http.Cache-Control ~ "(?i)(^|,)[ \t]*(must-revalidate|proxy-revalidate|no-cache)\b") {
    set beresp.grace = 0s;
  } else {
    set beresp.grace = 1h;
  }
  # A pagecache that has lost its database may send a page that another machine has purged (docs/cluster.md).
  if (beresp.http.Cache-Status ~ "unconfirmed") {
    set beresp.ttl = 0s;
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    set beresp.uncacheable = true;
    return (deliver);
  }
  # A purge came during this fetch: the response goes to the waiting visitors and is not stored.
  if (var.get("fence") != "mark " + var.global_get("fence")) {
    set beresp.ttl = 0s;
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    set beresp.uncacheable = true;
    return (deliver);
  }
}

sub vcl_deliver {
  unset resp.http.x-url;
  set resp.http.Vary = regsub(resp.http.Vary, "(, )?x-variant$", "");
  if (resp.http.Vary == "") {
    unset resp.http.Vary;
  }
  if (client.ip !~ tag_readers) {
    unset resp.http.xkey;
    unset resp.http.surrogate-key;
    unset resp.http.cache-tag;
  }
}
