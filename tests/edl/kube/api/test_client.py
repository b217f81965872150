import gzip
import socket
import tracemalloc
import zlib
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Thread
from time import sleep

import pytest

from edl.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Unreachable,
    WebhookAway,
    WebhookRefused,
)
from edl.kube.api.list_pages import LONGEST_PAGE
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.writes import Json
from tests.edl.kube.servers import CUT, Answer, api, serving, status

JOB = ObjectRef("Job", "web", "train")
EMPTY = Answer(200, {"metadata": {"resourceVersion": "5"}, "items": []})


def test_reads_are_repeated_while_the_server_is_overloaded() -> None:
    pauses: list[float] = []
    with serving(status(429, "later"), status(503, "starting"), EMPTY) as (script, address):
        assert api(address, pauses).list(ListOptions("Job")).version == "5"
    assert len(script.asked) == 3
    assert pauses == sorted(pauses)


def test_reads_give_up_after_some_time() -> None:
    with serving(status(503, "starting")) as (script, address), pytest.raises(Unreachable) as error:
        api(address).list(ListOptions("Job", "web"))
    assert "cannot list jobs.batch in namespace web now: starting" in str(error.value)
    assert error.value.status == 503
    assert len(script.asked) == 4


def later(seconds: str) -> Answer:
    return replace(status(429, "later"), headers={"Retry-After": seconds})


def test_a_read_is_repeated_when_the_server_says_so() -> None:
    pauses: list[float] = []
    with serving(later("7"), EMPTY) as (_, address):
        assert api(address, pauses).list(ListOptions("Job")).version == "5"
    assert pauses == [7.0]


@pytest.mark.parametrize("asks", ["31", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_read_ends_in_its_time_whatever_the_server_says(asks: str) -> None:
    pauses: list[float] = []
    with serving(later(asks)) as (_, address), pytest.raises(Unreachable, match="later"):
        api(address, pauses).get(JOB)
    assert sum(pauses) < 30


def test_a_read_with_repeats_and_pauses_ends_within_its_seconds() -> None:
    pauses: list[float] = []
    with serving(later("1")) as (script, address), pytest.raises(Unreachable, match="later"):
        api(address, pauses).within(2.5).get(JOB)
    assert sum(pauses) < 2.5
    assert len(script.asked) == 3


def test_a_read_that_is_made_once_is_not_repeated() -> None:
    with serving(later("1")) as (script, address), pytest.raises(Unreachable, match="later"):
        api(address).once(30).get(JOB)
    assert len(script.asked) == 1


def dated(text: str) -> Answer:
    return replace(EMPTY, headers={"Date": text})


@pytest.mark.parametrize("hours", [-2, 0, 2])
def test_an_answer_says_how_far_the_servers_clock_is_ahead(hours: int) -> None:
    ahead = timedelta(hours=hours)
    with serving(dated(format_datetime(datetime.now(UTC) + ahead, usegmt=True))) as (_, address):
        server = api(address)
        assert server.clock_ahead() == timedelta()
        server.list(ListOptions("Job"))
    assert abs(server.clock_ahead() - ahead) < timedelta(minutes=1)


@pytest.mark.parametrize("text", ["", "soon", "Wed, 21 Oct 2026 07:28:00"])
def test_without_a_date_the_clocks_are_taken_to_agree(text: str) -> None:
    with serving(dated(text)) as (_, address):
        server = api(address)
        server.list(ListOptions("Job"))
    assert server.clock_ahead() == timedelta()


def test_clients_of_one_server_share_what_its_answers_say_of_its_clock() -> None:
    ahead = timedelta(hours=1)
    with serving(dated(format_datetime(datetime.now(UTC) + ahead, usegmt=True))) as (_, address):
        server = api(address)
        server.once(5).list(ListOptions("Job"))
    assert abs(server.within(5).clock_ahead() - ahead) < timedelta(minutes=1)


def test_writes_are_never_repeated() -> None:
    with serving(status(503, "starting")) as (script, address), pytest.raises(Unreachable):
        api(address).patch(JOB, {"spec": {}})
    assert len(script.asked) == 1


def test_a_server_that_is_not_there_is_asked_once_and_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    pauses: list[float] = []
    with pytest.raises(
        Unreachable, match=f"{address}: .*refused; .*--kubeconfig or --context"
    ) as error:
        api(address, pauses).get(JOB)
    assert error.value.status == 0
    assert pauses == []


def test_a_kept_connection_that_was_closed_meanwhile_is_replaced_for_reads() -> None:
    with serving(CUT, EMPTY) as (script, address):
        assert api(address).list(ListOptions("Job")).version == "5"
    assert len(script.asked) == 2
    with serving(CUT, EMPTY) as (script, address), pytest.raises(Unreachable, match="no answer"):
        api(address).patch(JOB, {})
    assert len(script.asked) == 1


def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(Unreachable, match="no answer"):
            api(address).within(0.1).patch(JOB, {})


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *((404, NotFound), (409, Conflict), (410, Gone), (400, Invalid), (422, Invalid)),
        (408, Unreachable),
    ],
)
def test_each_refusal_is_its_own_error(code: int, kind: type[Exception]) -> None:
    with serving(status(code, "because")) as (_, address), pytest.raises(kind, match="because"):
        api(address).patch(JOB, {})


def test_a_missing_right_is_named_with_its_user_and_how_to_check_it() -> None:
    message = (
        'jobs.batch "train" is forbidden: User "ann" cannot patch resource "jobs" '
        'in API group "batch" in the namespace "web"'
    )
    with serving(status(403, message)) as (_, address), pytest.raises(Forbidden) as error:
        api(address).patch(JOB, {})
    assert str(error.value) == (
        '"ann" may not patch jobs.batch train in namespace web; ask for the ClusterRole edl-editor '
        "in namespace web (kubectl auth can-i patch jobs.batch/train -n web)"
    )


@pytest.mark.parametrize(
    "dump",
    [
        (
            'core.PodTemplateSpec{ObjectMeta:v1.ObjectMeta{Labels:map[string]string{"a":"b"}}, '
            'Spec:core.PodSpec{NodeSelector:map[string]string(nil), Hostname:"\\n"}}'
        ),
        '{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}}',
    ],
)
def test_a_refusal_names_the_field_and_not_the_whole_object_in_it(dump: str) -> None:
    message = (
        f'Job.batch "train" is invalid: [spec.template: Invalid value: {dump}: field is immutable, '
        "spec.completions: Invalid value: 3: field is immutable]"
    )
    with serving(status(422, message)) as (_, address), pytest.raises(Invalid) as error:
        api(address).patch(JOB, {})
    assert str(error.value) == (
        'Job.batch "train" is invalid: [spec.template: field is immutable, '
        "spec.completions: Invalid value: 3: field is immutable]"
    )


def test_a_refusal_full_of_objects_that_never_end_is_told_as_it_is() -> None:
    """At quadratic cost its 1.6 million characters would take hours."""
    message = "Invalid value: {" * 100_000
    with serving(status(422, message)) as (_, address), pytest.raises(Invalid) as error:
        api(address).patch(JOB, {})
    assert str(error.value) == message


def test_a_name_that_is_taken_differs_from_a_quota_that_has_changed() -> None:
    """Object-count quotas conflict if many objects are created at once (kubernetes#67761)."""
    taken = status(409, 'services "train" already exists', "AlreadyExists")
    counted = status(409, 'Operation cannot be fulfilled on resourcequotas "q": …', "Conflict")
    with serving(taken, counted) as (_, address):
        with pytest.raises(AlreadyExists):
            api(address).create(JOB, {})
        with pytest.raises(Conflict, match="resourcequotas") as error:
            api(address).create(JOB, {})
    assert type(error.value) is Conflict


@pytest.mark.parametrize("code", [403, 404, 409, 410, 422])
def test_a_webhooks_refusal_is_told_in_its_own_words(code: int) -> None:
    message = 'admission webhook "edl.dev" denied the request: edl.dev/min: "x"; a whole number'
    with serving(status(code, message)) as (_, address), pytest.raises(Invalid) as error:
        api(address).create(JOB, {})
    assert str(error.value) == 'edl.dev/min: "x"; a whole number'


@pytest.mark.parametrize(
    ("name", "kind"),
    [("jobs.edl.dev", WebhookRefused), ("jobs.kueue.x-k8s.io", Invalid), ("notedl.dev", Invalid)],
)
def test_our_webhooks_refusal_differs_from_that_of_another(
    name: str, kind: type[Exception]
) -> None:
    message = f'admission webhook "{name}" denied the request: unknown framework "x"'
    with serving(status(403, message)) as (_, address), pytest.raises(Invalid) as error:
        api(address).create(JOB, {})
    assert type(error.value) is kind


@pytest.mark.parametrize(
    ("name", "kind"), [("jobs.edl.dev", WebhookAway), ("jobs.kueue.x-k8s.io", Unreachable)]
)
def test_our_webhook_that_does_not_answer_is_an_error_of_its_own(
    name: str, kind: type[Exception]
) -> None:
    message = f'Internal error occurred: failed calling webhook "{name}": connection refused'
    with serving(status(500, message)) as (_, address), pytest.raises(Unreachable) as error:
        api(address).create(JOB, {})
    assert type(error.value) is kind
    assert name in str(error.value)


def test_a_quota_is_told_in_the_servers_words() -> None:
    message = 'pods "x" is forbidden: exceeded quota: small'
    with serving(status(403, message)) as (_, address), pytest.raises(Forbidden, match="quota"):
        api(address).create(JOB, {})


def test_an_error_without_a_status_object_is_still_an_error() -> None:
    page = Answer(502, "<html>Bad Gateway</html>")
    with serving(page) as (_, address), pytest.raises(Unreachable, match="Bad Gateway"):
        api(address).patch(JOB, {})


def test_a_list_follows_its_pages() -> None:
    meta = {"resourceVersion": "5"}
    first = Answer(200, {"metadata": {**meta, "continue": "a+b"}, "items": [{"x": 1}]})
    second = Answer(200, {"metadata": meta, "items": [{"x": 2}]})
    with serving(first, second) as (script, address):
        listing = api(address).list(ListOptions("Job", "web", "a=b"))
    assert listing.items == (b'{"x": 1}', b'{"x": 2}')
    assert script.asked[1].path == (
        "/apis/batch/v1/namespaces/web/jobs?labelSelector=a%3Db&limit=1000&continue=a%2Bb"
    )


def test_a_list_with_an_expired_continue_token_is_not_read_without_a_limit() -> None:
    first = Answer(200, {"metadata": {"resourceVersion": "5", "continue": "c"}, "items": [{}]})
    whole = Answer(200, {"metadata": {"resourceVersion": "9"}, "items": [{"x": 1}]})
    with serving(first, status(410, "expired"), whole) as (script, address):
        with pytest.raises(Gone, match="expired"):
            api(address).list(ListOptions("Pod"))
        assert len(script.asked) == 2


def test_a_packed_answer_is_unpacked() -> None:
    packed = gzip.compress(b'{"metadata": {"resourceVersion": "5"}, "items": [{"x": 1}]}')
    with serving(Answer(200, packed)) as (_, address):
        assert api(address).list(ListOptions("Job")).items == (b'{"x": 1}',)


def test_a_page_that_unpacks_to_more_than_memory_may_hold_is_given_up() -> None:
    """Ten pages' size arrives packed in a hundredth of one: it must not be unpacked as a whole."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    long = b"".join(packer.compress(b" " * LONGEST_PAGE) for _ in range(10)) + packer.flush()
    with serving(Answer(200, long), EMPTY) as (script, address):
        tracemalloc.start()
        try:
            assert api(address).list(ListOptions("Job")).version == "5"
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert [asked.path.partition("limit=")[2] for asked in script.asked] == ["1000", "250"]
    assert peak < 5 * LONGEST_PAGE


@pytest.mark.parametrize("end", [b"oops", b""])
def test_a_packed_answer_that_is_broken_is_none(end: bytes) -> None:
    broken = gzip.compress(b"{}")[:-4] + end
    with (
        serving(Answer(200, broken)) as (_, address),
        pytest.raises(Unreachable, match="no answer"),
    ):
        api(address).list(ListOptions("Job"))


def test_a_list_of_nothing_may_be_null() -> None:
    nothing = Answer(200, {"metadata": {"resourceVersion": "5"}, "items": None})
    with serving(nothing) as (_, address):
        assert api(address).list(ListOptions("Node")).items == ()


def test_writes_go_where_they_belong() -> None:
    done = Answer(200, {"metadata": {}})
    with serving(done) as (script, address):
        server = api(address)
        server.create(ObjectRef("Node", "", "n1"), {"a": 1}, dry_run=True)
        server.patch(JOB, {"b": None})
        server.delete(ObjectRef("Pod", "web", "p"), version="7")
    create, patch, delete = script.asked
    assert create.path == "/api/v1/nodes?fieldManager=kubectl-edl&dryRun=All"
    assert (patch.path, patch.content_type, patch.body) == (
        "/apis/batch/v1/namespaces/web/jobs/train?fieldManager=kubectl-edl",
        "application/merge-patch+json",
        '{"b":null}',
    )
    assert '"propagationPolicy":"Background"' in delete.body
    assert '"preconditions":{"resourceVersion":"7"}' in delete.body


def test_an_error_event_of_a_watch_is_raised() -> None:
    line = '{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}\n'
    with serving(Answer(200, line)) as (_, address), pytest.raises(Gone, match="too old"):
        list(api(address).watch(ListOptions("Job"), "1"))


def test_a_watch_of_nonsense_is_broken() -> None:
    with serving(Answer(200, '{"type":\n')) as (_, address), pytest.raises(Unreachable):
        list(api(address).watch(ListOptions("Job"), "1"))


@pytest.mark.parametrize(
    ("header", "warnings"),
    [
        (
            '299 - "would violate PodSecurity \\"restricted\\": a\\\\b"',
            ['would violate PodSecurity "restricted": a\\b'],
        ),
        ('299 - "one", 299 kube "two"', ["one", "two"]),
        ('299 - "zwölf"'.encode().decode("latin-1"), ["zwölf"]),
        ('110 - "stale"', []),
        ('299 - "never ends', []),
    ],
)
def test_warnings_in_the_answer_to_a_write_are_handed_on(header: str, warnings: list[str]) -> None:
    heard: list[str] = []
    answer = Answer(201, {"metadata": {}}, {"Warning": header})
    with serving(answer) as (_, address):
        client = api(address, on_warning=heard.append)
        client.get(JOB)
        assert heard == []
        client.without_warnings().create(JOB, {})
        assert heard == []
        client.within(5).create(JOB, {})
    assert heard == warnings


def test_a_refusal_has_warnings_too() -> None:
    heard: list[str] = []
    refused = replace(status(403, "denied"), headers={"Warning": '299 - "deprecated"'})
    with serving(refused) as (_, address), pytest.raises(Forbidden):
        api(address, on_warning=heard.append).delete(JOB)
    assert heard == ["deprecated"]


@pytest.mark.parametrize("answer", [{}, {"metadata": {"resourceVersion": "abc"}}])
def test_a_version_that_no_api_server_has_is_an_error_of_the_cluster(answer: Json) -> None:
    with serving(Answer(200, answer)) as (_, address):
        for ask in (api(address).version, lambda: api(address).list(ListOptions("Job"))):
            with pytest.raises(Unreachable, match="answers as no API server does"):
                ask()


@pytest.mark.parametrize("body", ["<html>Please log in</html>", "[]"])
def test_an_answer_of_a_login_page_is_an_error_of_the_cluster(body: str) -> None:
    with serving(Answer(200, body)) as (_, address):
        for ask in (lambda: api(address).get(JOB), lambda: api(address).list(ListOptions("Job"))):
            with pytest.raises(Unreachable, match="answers as no API server does"):
                ask()


@pytest.mark.parametrize(
    "begin", [b"\r\n", b"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08" + bytes(6)]
)
def test_an_answer_that_drips_ends_in_its_time(begin: bytes) -> None:
    """Else the thread that campaigns for the Lease, or writes, would never be free again.

    Of a packed answer whose file name never ends, nothing can be unpacked.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        dripping = Thread(target=drip, args=(listening, begin), daemon=True)
        dripping.start()
        client = api(f"http://127.0.0.1:{listening.getsockname()[1]}").once(0.1)
        with pytest.raises(Unreachable, match="the answer takes too long"):
            client.get(JOB)
        dripping.join()


def test_a_long_answer_that_flows_may_take_longer() -> None:
    """A fixed deadline would end each attempt at a whole list over a slow link."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        flowing = Thread(target=flow, args=(listening,), daemon=True)
        flowing.start()
        client = api(f"http://127.0.0.1:{listening.getsockname()[1]}").once(1)
        assert client.get(JOB) == {"padding": " " * 10 * 2**16}
        flowing.join()


def flow(listening: socket.socket) -> None:
    """Answers one request in ten parts within two seconds."""
    client, _ = listening.accept()
    with client, suppress(OSError):
        client.recv(2**16)
        body = b'{"padding":"' + b" " * 10 * 2**16 + b'"}'
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
        for at in range(0, len(body), 2**16):
            client.sendall(body[at : at + 2**16])
            sleep(0.15)


def drip(listening: socket.socket, begin: bytes) -> None:
    """Answers one request, a byte at a time, until its client is gone, or after two seconds."""
    client, _ = listening.accept()
    with client, suppress(OSError):
        client.recv(2**16)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n" + begin)
        for _ in range(100):
            client.sendall(b" ")
            sleep(0.02)
