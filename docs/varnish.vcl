vcl 4.1;

# Varnish with pagecache, before it or behind it: docs/varnish.md. Needs Varnish 7 and varnish-modules (xkey, var).
# What to change stands at the top. The tests of pagecache run this file with no other change than the backend's address.

import std;
import var;
import xkey;

# Where pages come from: pagecache where Varnish stands before it, the shop where it stands behind it.
backend default {
  .host = "127.0.0.1";
  .port = "8080";
  .connect_timeout = 5s;
  .first_byte_timeout = 60s;
  .between_bytes_timeout = 60s;
}

# Who may purge: the machines that pagecache runs on. None that passes on what visitors send.
acl purgers {
  "127.0.0.1";
  "::1";
}

# Who is shown the tags of a page: a pagecache before this Varnish, which needs them to purge its own pages.
acl tag_readers {
  "127.0.0.1";
  "::1";
}

sub vcl_recv {
  if (req.method == "PURGE" || req.method == "BAN") {
    if (client.ip !~ purgers) {
      return (synth(403, "Forbidden"));
    }
    # The fence: what is being fetched now is older than this purge, and is not kept (vcl_backend_response).
    var.global_set("fence", req.xid);
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

  if (req.method != "GET" && req.method != "HEAD") {
    return (pass);
  }
  if (req.http.Authorization || req.url ~ "^/(checkout|account|admin|api)(/|\?|$)") {
    return (pass);
  }
  call canonical_url;
  set req.http.x-variant = regsub(req.http.Cookie, "(?:^|.*; ?)sw-cache-hash=([^;]*).*|.*", "\1")
    + "|" + regsub(req.http.Cookie, "(?:^|.*; ?)sw-currency=([^;]*).*|.*", "\1");
  return (hash);
}

# `BAN /` is everything, anything else a regular expression over path and query.
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

# Parameters that change nothing on a page are left out, the others are sorted: pagecache purges a URL in this form.
sub canonical_url {
  if (req.url ~ "\?") {
    set req.url = regsuball(req.url, "([?&])(utm_[^=&]*|gclid|gclsrc|gbraid|wbraid|gad_[^=&]*|dclid|fbclid|msclkid|mc_cid|mc_eid|_ga|_gl|srsltid)(=[^&]*)?(?=&|$)", "\1");
    set req.url = regsub(regsub(regsuball(req.url, "&&+", "&"), "\?&+", "?"), "[?&]+$", "");
    set req.url = std.querysort(req.url);
  }
}

sub vcl_backend_fetch {
  # A pagecache behind this Varnish shows the tags of a page to those of its trustedProxies that ask for them.
  set bereq.http.x-pagecache-tags = "1";
  # The mark with a text before it: until the first purge there is no mark, and what is unset equals nothing, not even itself.
  var.set("fence", "mark " + var.global_get("fence"));
  # No business of the backend: pagecache does not store what may depend on a field that it does not know.
  if (bereq.http.x-variant) {
    var.set("variant", bereq.http.x-variant);
    unset bereq.http.x-variant;
  }
}

sub vcl_backend_response {
  set bereq.http.x-variant = var.get("variant");
  # Nothing tells apart the visitors of such a page. Varnish's own test no longer matches once a name is appended below.
  if (beresp.http.Vary ~ "(^|,)[ \t]*\*[ \t]*(,|$)") {
    set beresp.ttl = 0s;
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    set beresp.uncacheable = true;
    return (deliver);
  }
  # Bans look at the object alone, so that they can be worked off in the background.
  set beresp.http.x-url = bereq.url;
  # A variant by Vary and not by the hash: a purge of a URL takes all that Vary tells apart.
  if (beresp.http.Vary) {
    set beresp.http.Vary = beresp.http.Vary + ", x-variant";
  } else {
    set beresp.http.Vary = "x-variant";
  }
  if (beresp.http.Set-Cookie && beresp.http.Cache-Control ~ "(?i)\b(public|s-maxage)\b") {
    unset beresp.http.Set-Cookie;
  }
  # A page that a soft purge or its age made stale may be served while it is renewed, unless the shop forbids it (RFC 9111, 4.2.4).
  if (beresp.http.Cache-Control ~ "(?i)(^|,)[ \t]*(must-revalidate|proxy-revalidate|no-cache)\b") {
    set beresp.grace = 0s;
  } else {
    set beresp.grace = 1h;
  }
  # A purge came while this was being fetched: it goes to those who wait for it, and is not kept.
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
