#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads TensorBoard event files with protobuf's own reader and a checksum written from its
definition, and holds what the program writes against what it says elsewhere.

    tensorboard_reader.py check FOLDER     every record of every event file below a folder
    tensorboard_reader.py test PROGRAM     exports, trains, kills and resumes in a temporary folder

Ends with 77, which ctest takes for "skipped", where Python has no protobuf.
"""

import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2
except ImportError:
    print("skipped: Python has no google.protobuf (Debian: python3-protobuf)")
    sys.exit(77)

# ---- TensorBoard's messages, by the numbers of its .proto files ----------------------------------

MESSAGES = {
    "Event": "wall_time=1:double step=2:int64 file_version=3:string/what graph_def=4:bytes/what "
    "summary=5:Summary/what log_message=6:bytes/what session_log=7:bytes/what "
    "tagged_run_metadata=8:bytes/what meta_graph_def=9:bytes/what source_metadata=10:bytes",
    "Summary": "value=1:*Value",
    "Value": "tag=1:string simple_value=2:float/value image=4:bytes/value histo=5:bytes/value "
    "audio=6:bytes/value tensor=8:TensorProto/value node_name=7:string metadata=9:SummaryMetadata",
    "SummaryMetadata": "plugin_data=1:PluginData display_name=2:string summary_description=3:string "
    "data_class=4:int32",
    "PluginData": "plugin_name=1:string content=2:bytes",
    "TensorProto": "dtype=1:int32 tensor_shape=2:TensorShapeProto version_number=3:int32 "
    "tensor_content=4:bytes float_val=5:*float double_val=6:*double string_val=8:*bytes",
    "TensorShapeProto": "dim=2:*Dim unknown_rank=3:bool",
    "Dim": "size=1:int64 name=2:string",
    "HParamsPluginData": "version=1:int32 experiment=2:Experiment/data "
    "session_start_info=3:SessionStartInfo/data session_end_info=4:SessionEndInfo/data",
    "SessionStartInfo": "hparams=1:*HparamsEntry model_uri=2:string monitor_url=3:string "
    "group_name=4:string start_time_secs=5:double",
    "HparamsEntry": "key=1:string value=2:google.protobuf.Value",
    "SessionEndInfo": "status=1:int32 end_time_secs=2:double",
    "Experiment": "description=1:string user=2:string time_created_secs=3:double "
    "hparam_infos=4:*HParamInfo metric_infos=5:*MetricInfo name=6:string",
    "HParamInfo": "name=1:string display_name=2:string description=3:string type=4:int32 "
    "domain_discrete=5:google.protobuf.ListValue/domain domain_interval=6:Interval/domain",
    "Interval": "min_value=1:double max_value=2:double",
    "MetricName": "group=1:string tag=2:string",
    "MetricInfo": "name=1:MetricName display_name=3:string description=4:string dataset_type=5:int32",
}


def message_classes():
    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="tandem_test.proto", package="t", syntax="proto3", dependency=["google/protobuf/struct.proto"]
    )
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for spec in fields.split():
            title, number, kind, oneof = re.fullmatch(r"(\w+)=(\d+):([*\w.]+)(?:/(\w+))?", spec).groups()
            field = message.field.add(name=title, number=int(number))
            field.label = field_type.LABEL_REPEATED if kind[0] == "*" else field_type.LABEL_OPTIONAL
            kind = kind.lstrip("*")
            simple = getattr(field_type, "TYPE_" + kind.upper(), None)
            if simple is not None and kind.islower():
                field.type = simple
            else:
                field.type = field_type.TYPE_MESSAGE
                field.type_name = "." + kind if "." in kind else ".t." + kind
            if oneof:
                if oneof not in [each.name for each in message.oneof_decl]:
                    message.oneof_decl.add(name=oneof)
                field.oneof_index = [each.name for each in message.oneof_decl].index(oneof)
    pool = descriptor_pool.DescriptorPool()
    struct_file = descriptor_pb2.FileDescriptorProto()
    struct_pb2.DESCRIPTOR.CopyToProto(struct_file)
    pool.Add(struct_file)
    pool.Add(file)
    if hasattr(message_factory, "GetMessageClass"):
        make = message_factory.GetMessageClass
    else:
        make = message_factory.MessageFactory(pool).GetPrototype
    return {name: make(pool.FindMessageTypeByName("t." + name)) for name in MESSAGES}


CLASSES = message_classes()


def parsed(name, data):
    message = CLASSES[name]()
    message.ParseFromString(data)
    expect(not unknown_fields(message), f"{name} has fields that TensorBoard does not know")
    return message


def unknown_fields(message):
    try:
        from google.protobuf import unknown_fields as module

        count = len(module.UnknownFieldSet(message))
    except ImportError:
        count = len(message.UnknownFields())
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for each in value if field.label == field.LABEL_REPEATED else [value]:
            count += unknown_fields(each)
    return count


# ---- Records -------------------------------------------------------------------------------------


class Damaged(Exception):
    pass


def expect(good, what):
    if not good:
        raise AssertionError(what)


def crc32c(data):
    """Castagnoli's polynomial, a bit at a time, least bit first."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


TABLE = [0] * 256
for _byte in range(256):
    _crc = _byte
    for _ in range(8):
        _crc = _crc >> 1 ^ (0x82F63B78 if _crc & 1 else 0)
    TABLE[_byte] = _crc


def fast_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked(crc):
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        if len(data) - at < 12:
            raise Damaged("the head of a record is cut off")
        (length,) = struct.unpack_from("<Q", data, at)
        if struct.unpack_from("<I", data, at + 8)[0] != masked(fast_crc32c(data[at : at + 8])):
            raise Damaged("wrong checksum of a length")
        if len(data) - at < length + 16:
            raise Damaged("a record is cut off")
        record = data[at + 12 : at + 12 + length]
        if struct.unpack_from("<I", data, at + 12 + length)[0] != masked(fast_crc32c(record)):
            raise Damaged("wrong checksum of the data")
        yield record
        at += length + 16


# ---- Runs ----------------------------------------------------------------------------------------

NAME = re.compile(r"events\.out\.tfevents\.\d{10}\.[A-Za-z0-9-]+\.\w+")


class Run:
    """What TensorBoard would make of a folder: its files in the order of their names."""

    def __init__(self, folder, whole=True):
        self.scalars, self.texts, self.hparams = {}, {}, {}
        self.files = sorted(path for path in folder.iterdir() if path.is_file())
        self.records = 0
        for path in self.files:
            expect(NAME.fullmatch(path.name), f"{path}: no name of an event file")
            try:
                self._read(path)
            except Damaged:
                if whole:
                    raise

    def _read(self, path):
        for number, record in enumerate(records(path.read_bytes())):
            self.records += 1
            event = parsed("Event", record)
            expect(event.wall_time > 0, f"{path}: no time")
            if number == 0:
                expect(event.file_version == "brain.Event:2", f"{path}: no version")
                continue
            expect(event.WhichOneof("what") == "summary", f"{path}: no summary")
            for value in event.summary.value:
                self._take(event, value)

    def _take(self, event, value):
        plugin = value.metadata.plugin_data
        if value.WhichOneof("value") == "simple_value":
            expect(math.isfinite(value.simple_value), f"{value.tag} is not finite")
            series = self.scalars.setdefault(value.tag, [])
            # TensorBoard drops what has a later step when an earlier one comes.
            expect(not series or series[-1][0] < event.step, f"{value.tag}: step {event.step} twice")
            series.append((event.step, value.simple_value, event.wall_time))
            return
        expect(value.WhichOneof("value") == "tensor", f"{value.tag}: no value")
        expect(value.metadata.data_class == 2, f"{value.tag}: no tensor")
        if plugin.plugin_name == "text":
            expect(value.tensor.dtype == 7, "a text is no string")
            expect([dim.size for dim in value.tensor.tensor_shape.dim] == [1], "not one text")
            self.texts[value.tag] = value.tensor.string_val[0].decode()
        else:
            expect(plugin.plugin_name == "hparams", f"unknown plug-in {plugin.plugin_name}")
            expect(value.tensor.dtype == 1, "the empty tensor is of floats")
            expect([dim.size for dim in value.tensor.tensor_shape.dim] == [0], "it is empty")
            data = parsed("HParamsPluginData", plugin.content)
            expect(data.version == 0, "another version of hparams")
            expect(value.tag == "_hparams_/" + data.WhichOneof("data"), f"{value.tag}: another kind")
            self.hparams[data.WhichOneof("data")] = getattr(data, data.WhichOneof("data"))

    def session(self):
        values = {}
        for entry in self.hparams["session_start_info"].hparams:
            values[entry.key] = getattr(entry.value, entry.value.WhichOneof("kind"))
        return values

    def curve(self, tag):
        return [(step, value) for step, value, _ in self.scalars.get(tag, [])]


def runs_below(folder):
    """By their folders, as TensorBoard names runs."""
    found = {path.parent for path in folder.rglob("*tfevents*")}
    return {str(path.relative_to(folder)): Run(path) for path in sorted(found)}


# ---- The test ------------------------------------------------------------------------------------

STUDY = """
name = "small"
epochs = 3
tune_seed = 0
seeds = [1, 2]
diagnose = true

[[task]]
data = "synthetic:rows=300"
model = "logistic"
lambda = 0.1
batch = 20
validation = 0.2

[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1]

[[optimizer]]
name = "diag-to"
label = "diag-to, alpha = 0"
lr = [0.1, 1e30]
alpha = 0
beta = 0.5
"""

TAGS = {
    "loss/train": lambda p: p["train_loss"],
    "loss/validation": lambda p: p["validation_loss"],
    "accuracy/validation": lambda p: p["validation_accuracy"],
    "gap": lambda p: minus(p["train_loss"], p.get("optimum")),
    "estimator/residual": lambda p: p["residual"],
    "estimator/delta": lambda p: p["delta"],
    "estimator/variance_ratio": lambda p: ratio(p["estimator_error"], p["batch_error"]),
    "distance": lambda p: p["distance"],
}


def minus(a, b):
    return None if a is None or b is None else a - b


def ratio(a, b):
    return None if a is None or not b else a / b


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


class Test:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *arguments, code=0):
        done = subprocess.run(
            [self.program, *arguments], cwd=self.folder, capture_output=True, text=True, check=False
        )
        expect(done.returncode == code, f"{arguments}: {done.returncode}: {done.stderr}")
        return done.stdout

    def lines(self, *arguments):
        return [json.loads(line) for line in self.run(*arguments).splitlines()]

    def checksums(self):
        expect(crc32c(b"123456789") == 0xE3069283, "the checksum's known value")
        for size in (0, 1, 7, 64, 300):
            data = bytes(range(256))[:size] * 2
            expect(crc32c(data) == fast_crc32c(data), "both checksums")

    def export(self):
        (self.folder / "small.toml").write_text(STUDY)
        self.run("study", "small.toml", "--store", "s.db", "--quiet")
        self.run("export", "tensorboard", "--store", "s.db", "--out", "tb", "--grid", "--quiet")
        points = self.lines("export", "jsonl", "--store", "s.db", "--grid")
        wanted = {}
        for point in points:
            last = f"seed-{point['seed']}" if point["phase"] == "measure" else f"setting-{point['run']}"
            wanted.setdefault("/".join(["small", point["task"], point["optimizer"], last]), []).append(point)
        runs = runs_below(self.folder / "tb")
        expect(set(runs) == set(wanted) | {"small"}, f"runs {sorted(runs)}")
        for name, expected in wanted.items():
            self.compare(name, runs[name], expected)
        diverged = [name for name, expected in wanted.items() if expected[0]["diverged"]]
        expect(diverged, "a setting that diverges")
        self.texts_and_experiment(runs, self.lines("runs", "show", "small", "--store", "s.db", "--json")[0])
        return len(runs), sum(run.records for run in runs.values())

    @staticmethod
    def compare(name, run, points):
        for tag, value_of in TAGS.items():
            values = [(point["step"], value_of(point)) for point in points]
            curve = [(step, single(value)) for step, value in values if value is not None]
            expect(run.curve(tag) == curve, f"{name}: {tag}: {run.curve(tag)} is not {curve}")
        session = run.session()
        head = points[0]
        for key in ("study", "data", "model", "lambda", "batch", "optimizer", "phase", "seed"):
            expect(session.pop(key) == head[key], f"{name}: hyper-parameter {key}")
        expect(set(session) == set(head["options"]), f"{name}: options {session}")
        for key, text in head["options"].items():
            if text in ("true", "false"):
                expect(session[key] is (text == "true"), f"{name}: {key} is no truth value")
            elif re.fullmatch(r"-?[0-9.]+(e[-+]?\d+)?", text):
                expect(session[key] == float(text), f"{name}: {key} is no number")
            else:
                expect(session[key] == text, f"{name}: {key}")
        end = run.hparams["session_end_info"]
        expect(end.status == (2 if head["diverged"] else 1), f"{name}: status {end.status}")
        least = [point["train_loss"] for point in points if point["epoch"] > 0]
        if head["diverged"]:
            expect("least/train_loss" not in run.scalars, f"{name} diverged and has a least loss")
        else:
            expect(run.curve("least/train_loss")[0][1] == single(min(least)), f"{name}: least loss")

    @staticmethod
    def texts_and_experiment(runs, facts):
        text = runs["small"].texts["study/file"]
        expect([line[4:] for line in text.splitlines()] == facts["text"].splitlines(), "the study's text")
        expect(runs["small"].texts["study/command"].strip() == facts["command"], "the command")
        expect(facts["machine"] in runs["small"].texts["study/machine"], "the machine")
        experiment = runs["small"].hparams["experiment"]
        infos = {info.name: info for info in experiment.hparam_infos}
        for name, run in runs.items():
            if name == "small":
                continue
            for key, value in run.session().items():
                info = infos[key]
                if isinstance(value, float) and info.type == 3:
                    interval = info.domain_interval
                    expect(interval.min_value <= value <= interval.max_value, f"range of {key}")
                elif not isinstance(value, float):
                    domain = [getattr(v, v.WhichOneof("kind")) for v in info.domain_discrete.values]
                    expect(value in domain, f"values of {key}")
        tags = [metric.name.tag for metric in experiment.metric_infos]
        expect("least/train_loss" in tags and "least/gap" in tags, f"metrics {tags}")

    def damage(self):
        """Every way to cut a file short, and every byte of it wrong, is seen."""
        path = next((self.folder / "tb").rglob("seed-1/*tfevents*"))
        data = path.read_bytes()
        ends, at = {0}, 0
        for record in records(data):
            at += len(record) + 16
            ends.add(at)
        for size in range(len(data)):
            expect(self.is_damaged(data[:size]) != (size in ends), f"cut off at {size}")
        for place in range(0, len(data), 7):
            wrong = data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]
            expect(self.is_damaged(wrong), f"byte {place} is wrong")

    @staticmethod
    def is_damaged(data):
        try:
            list(records(data))
        except Damaged:
            return True
        return False

    COMMAND = ["train", "--data", "synthetic:rows=400", "--batch", "4", "--optimizer", "diag-to", "--json"]

    def train(self):
        single_run = [*self.COMMAND, "--lr", "0.1", "--epochs", "60", "--checkpoint", "c", "--tensorboard"]
        points = [line for line in self.lines(*single_run, "whole") if line["event"] == "point"]
        whole = Run(self.folder / "whole")
        expect(whole.curve("loss/train") == [(p["step"], single(p["train_loss"])) for p in points], "live")
        expect(whole.hparams["session_end_info"].status == 1, "the end")
        expect(whole.session()["lr"] == 0.1 and "beta" in whole.session(), "hyper-parameters")
        (self.folder / "c").unlink()
        kills = self.killed([self.program, *single_run, "parts"], self.folder / "parts")
        parts = Run(self.folder / "parts", whole=False)
        for tag in ("loss/train", "estimator/residual", "least/train_loss"):
            expect(parts.curve(tag) == whole.curve(tag), f"{tag} after {kills} kills")

        population = [*self.COMMAND, "--lr", "0.1,0.2", "--epochs", "2", "--tensorboard", "many"]
        points = [line for line in self.lines(*population) if line["event"] == "point"]
        runs = runs_below(self.folder / "many")
        expect(set(runs) == {"member-0", "member-1"}, f"members {sorted(runs)}")
        for member in (0, 1):
            curve = [(p["step"], single(p["train_loss"])) for p in points if p["member"] == member]
            expect(runs[f"member-{member}"].curve("loss/train") == curve, f"member {member}")
        return kills

    def killed(self, command, board):
        """Kills the program whenever it has written something more, until it gets through."""
        kills = 0
        while True:
            with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL) as process:
                before = self.size(board)
                while process.poll() is None and (kills >= 5 or self.size(board) <= before):
                    time.sleep(0.002)
                if process.poll() is None:
                    process.kill()
            if process.returncode == 0:
                return kills
            expect(process.returncode == -9, f"ended by {process.returncode}")
            kills += 1

    @staticmethod
    def size(folder):
        return sum(path.stat().st_size for path in folder.glob("*")) if folder.is_dir() else 0


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "test"):
        sys.exit(__doc__)
    if sys.argv[1] == "check":
        runs = runs_below(pathlib.Path(sys.argv[2]))
        scalars = sum(len(series) for run in runs.values() for series in run.scalars.values())
        print(f"{len(runs)} runs, {sum(run.records for run in runs.values())} records, {scalars} scalars: good")
        return
    with tempfile.TemporaryDirectory() as folder:
        test = Test(os.path.abspath(sys.argv[2]), pathlib.Path(folder))
        test.checksums()
        runs, count = test.export()
        test.damage()
        kills = test.train()
    print(f"{runs} runs with {count} records; trained through {kills} kills")


main()
